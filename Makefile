# SPDX-License-Identifier: BSD-3-Clause
# One word per task. `make demo` and `make test` need nothing but this checkout on a Debian machine.
SHELL := /bin/bash
jobs ?= $(shell nproc)
preset ?= release
build := build/$(preset)
python := .venv/bin/python
demo_output ?= results/nacl
cosmology_output ?= results/cosmology
cfd_output ?= results/cfd
# Files of tests at a time. Each test has several ranks, which often wait.
workers ?= 3
# For CMake, such as `options=-DPILLION_UNIT_TESTS=OFF`.
options ?=
sweep := PILLION_TEST_ALL=1 tools/run_pytest.sh $(build) $(workers)

.PHONY: all demo demo-cosmology demo-cfd test test-all test-builds test-cluster test-faults test-mutants test-sanitizers test-fuzz \
  test-scale test-codes asan unit-debug odr tsan bench docs format lint check configure build clean

all: build

configure:
	@cmake --preset $(preset) $(options) >/dev/null

build:
	@tools/install_deps.sh test
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(preset) -j $(jobs)

# A real LAMMPS run, analysed while it runs, and a report of it.
demo:
	@tools/install_deps.sh run
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(preset) -j $(jobs) --target demo_nacl
	@PYTHON=$(python) tools/run_demo.sh $(build) $(demo_output)

# Structure forms in the universe, and a report that sets it beside theory.
demo-cosmology:
	@tools/install_deps.sh test
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(preset) -j $(jobs) --target demo_cosmology
	@PYTHON=$(python) tools/run_demo_cosmology.sh $(build) $(cosmology_output) $(cosmology)

# A vortex compressed, drawn and averaged in three modes, with a film. `make demo-cfd cfd="elements=6"`.
demo-cfd:
	@tools/install_deps.sh test
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(preset) -j $(jobs) --target demo_cfd
	@PYTHON=$(python) tools/run_demo_cfd.sh $(build) $(cfd_output) $(cfd)

test: build check
	@tools/run_tests.sh $(build) $(jobs) $(workers)

# Heavier sweeps, each under an hour and ending with one line.
test-all: test odr test-builds test-cluster test-faults test-mutants test-sanitizers test-fuzz test-scale test-codes

# Every benchmark, example, mini-application, adapter and fuzz target, so that nothing rots because
# its requirement is missing. The plug-in for LAMMPS, and programs with ADIOS2, AMReX, Nek5000,
# code_saturne and SimGrid are built by the tests of `make test-codes` and `make test-scale`. The
# preset dev compiles every file by itself: includes that other builds get by chance are missing.
test-builds:
	@tools/install_deps.sh develop
	@$(MAKE) --no-print-directory options="-DPILLION_UNIT_TESTS=ON" build
	@$(python) tools/check_builds.py $(build) --all
	@$(MAKE) --no-print-directory preset=fuzz configure
	@cmake --build --preset fuzz -j $(jobs) --target fuzz_targets
	@$(MAKE) --no-print-directory preset=dev configure
	@cmake --build --preset dev -j $(jobs)
	@echo "test-builds: passed"

# Signals, kills and starvation with many seeds, and the model of the shared memory at larger sizes.
test-faults: build
	@PILLION_TEST_ALL=1 timeout 600 $(build)/tests/unit/unit_processes -tc='stray stores*'
	@$(sweep) tests/faults tests/insitu tests/model
	@echo "test-faults: passed"

# What Pillion does under Slurm, on nodes of namespaces. `make test-cluster cluster="--nodes 2 --hidepid"`
# passes options to tools/cluster/setup.sh; `only="-k array"` to pytest.
cluster ?=
test-cluster: build
	@[ "$$(id -u)" != 0 ] || tools/install_deps.sh cluster
	@reason=$$(tools/cluster/why_not.sh) || { echo "test-cluster: skipped: $$reason"; exit 0; }; \
	  PILLION_CLUSTER="$(cluster)" PILLION_BUILD=$(CURDIR)/$(build) $(python) -m pytest -q -rs --durations=10 \
	  tests/cluster $(only) && echo "test-cluster: passed"

# That a test fails for each safeguard that is taken out. `make test-mutants words="coverage"`.
test-mutants:
	@tools/install_deps.sh test
	@$(python) tests/mutants/run_mutants.py $(words)

# Every test of the library under the sanitizers.
test-sanitizers: asan tsan
	@echo "test-sanitizers: passed"

# Damaged input of all kinds from fuzzers, each of which runs `seconds`. `make test-fuzz fuzz="idx view"`.
seconds ?= 600
test-fuzz: build
	@tools/install_deps.sh fuzz
	@$(MAKE) --no-print-directory preset=fuzz configure
	@cmake --build --preset fuzz -j $(jobs) --target fuzz_targets
	@tools/run_fuzzers.sh build/fuzz $(build) $(seconds) $(jobs) $(fuzz)
	@echo "test-fuzz: passed"

# Every placement with every number of ranks; simulated machines; data that take much memory.
test-scale:
	@tools/install_deps.sh develop
	@$(MAKE) --no-print-directory build
	@$(sweep) tests/conformance tests/placement tests/study tests/unit tests/python/test_grid_pairs.py
	@echo "test-scale: passed"

# Other people's codes, MPI libraries and programs: LAMMPS, MPICH, ParaView, browsers, wheels.
test-codes:
	@tools/install_deps.sh develop
	@$(MAKE) --no-print-directory build
	adapters/lammps/build_plugin.sh build/plugin $(python)
	@PILLION_PLUGIN_BUILD=$(CURDIR)/build/plugin $(sweep) tests/lammps tests/taylor_green tests/cosmology \
	  tests/codes tests/conformance/test_catalyst.py \
	  tests/conformance/test_catalyst_stage_meshes.py \
	  tests/conformance/test_catalyst_parallel.py tests/docs tests/install tests/run tests/python
	@echo "test-codes: passed"

# Everything that has a sanitizer build of its own but the Python package.
asan:
	@tools/install_deps.sh test
	@$(MAKE) --no-print-directory preset=asan configure
	@cmake --build --preset asan -j $(jobs)
	@rm -f build/asan/sanitizer-log.*
	ctest --preset asan -j $(jobs) || { $(python) tools/check_leaks.py build/asan/sanitizer-log; exit 1; }
	. tools/sanitizer_options.sh && tools/run_pytest.sh build/asan $(workers) tests --ignore tests/python
	$(python) tools/check_leaks.py build/asan/sanitizer-log

# The unit tests alone, at -O0 with assertions and under AddressSanitizer. Those of many ranks run on
# 3 ranks on one day and on 4 on the next.
unit-debug:
	@tools/install_deps.sh test
	@$(MAKE) --no-print-directory preset=unit-debug configure
	@cmake --build --preset unit-debug -j $(jobs) --target unit_tests
	@rm -f build/unit-debug/sanitizer-log.*
	ctest --preset unit-debug -R '^unit' -E "parallel\.n$$((3 + 10#$$(date +%j) % 2))$$" -j $(jobs) || { $(python) tools/check_leaks.py build/unit-debug/sanitizer-log; exit 1; }
	$(python) tools/check_leaks.py build/unit-debug/sanitizer-log

# Types that two files define differently, which the linker finds when it sees all of the library.
odr:
	@tools/install_deps.sh stages
	@$(MAKE) --no-print-directory preset=odr configure
	@cmake --build --preset odr -j $(jobs) --target pillion
	@echo "odr: passed"

# Both ends of the node transport as threads of one program without MPI, in whose libraries this
# sanitizer sees races that are none. It knows no layout of memory that is too random.
tsan:
	@tools/install_deps.sh test
	@$(MAKE) --no-print-directory preset=tsan configure
	@cmake --build --preset tsan -j $(jobs) --target unit_channel_threads unit_progress_file
	$$(setarch -R true 2>/dev/null && echo setarch -R) ctest --preset tsan -R '^unit\.(channel_threads|progress_file)$$'

bench: build
	@PYTHON=$(python) tools/run_benches.sh $(build)

# The documentation as a site, in build/docs; any warning is an error.
docs:
	@tools/install_deps.sh docs
	@$(python) docs/site/build.py build/docs
	@echo "file://$(CURDIR)/build/docs/index.html"

# What needs no build: that no include runs against the layers, that all memory is in an account,
# that collectives follow an agreement, that stages survive failures, that code leaves the program's
# environment alone, that no type is defined twice, that one place decides who is alive, that the
# documentation has no sentence that must be read twice, and that tests have limits that follow the
# machine.
check:
	@tools/install_deps.sh test
	@$(python) tools/check_layers.py
	@$(python) tools/check_memory.py
	@$(python) tools/check_collectives.py
	@$(python) tools/check_stages.py
	@$(python) tools/check_host.py
	@$(python) tools/check_names.py
	@$(python) tools/check_writers.py
	@$(python) tools/check_liveness.py
	@$(python) tools/check_prose.py
	@$(python) tools/check_tests.py

# How files are written, without changing them.
lint: check
	@tools/install_deps.sh lint
	@$(python) tools/check_sizes.py
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' | xargs clang-format --dry-run --Werror
	@git ls-files '*.cmake' '*CMakeLists.txt' | xargs .venv/bin/gersemi --check
	@.venv/bin/ruff format -q --check . && .venv/bin/ruff check -q .
	@.venv/bin/mypy
	@codespell $$(git ls-files)

format:
	@tools/install_deps.sh lint
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' | xargs clang-format -i
	@git ls-files '*.cmake' '*CMakeLists.txt' | xargs .venv/bin/gersemi -i
	@.venv/bin/ruff format -q . && .venv/bin/ruff check -q --fix .
	@codespell $$(git ls-files)

clean:
	rm -rf build results

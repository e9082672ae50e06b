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
# Files of tests at a time; each test has several ranks.
workers ?= 2
at_a_time := -n $(workers) --dist loadfile

.PHONY: all demo demo-cosmology demo-cfd test test-all asan tsan bench docs format check deps build clean

all: build

deps:
	@tools/install_deps.sh

build: deps
	@cmake --preset $(preset) >/dev/null
	@cmake --build --preset $(preset) -j $(jobs)

# A real LAMMPS run, analysed while it runs, and a report of it.
demo: build
	@PYTHON=$(python) tools/run_demo.sh $(build) $(demo_output)

# Structure forms in the universe, and a report that sets it beside theory.
demo-cosmology: build
	@PYTHON=$(python) tools/run_demo_cosmology.sh $(build) $(cosmology_output) $(cosmology)

# A vortex compressed, drawn and averaged in three modes, with a film. `make demo-cfd cfd="elements=6"`.
demo-cfd: build
	@PYTHON=$(python) tools/run_demo_cfd.sh $(build) $(cfd_output) $(cfd)

test: build check
	ctest --preset $(preset) -j $(jobs)
	PILLION_BUILD=$(CURDIR)/$(build) $(python) -m pytest -q $(at_a_time) tests

# Everything: full sweeps, the other MPI, formats, sanitizers. Takes long.
test-all:
	@tools/install_deps.sh --all
	$(MAKE) test asan tsan
	adapters/lammps/build_plugin.sh build/plugin $(python)
	PILLION_TEST_ALL=1 PILLION_PLUGIN_BUILD=$(CURDIR)/build/plugin \
	  PILLION_BUILD=$(CURDIR)/$(build) $(python) -m pytest -q $(at_a_time) tests

asan: deps
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(jobs)
	@rm -f build/asan/sanitizer-log.*
	ctest --preset asan -j $(jobs) || { $(python) tools/check_leaks.py build/asan/sanitizer-log; exit 1; }
	. tools/sanitizer_options.sh && \
	  PILLION_BUILD=$(CURDIR)/build/asan $(python) -m pytest -q $(at_a_time) tests --ignore tests/python
	$(python) tools/check_leaks.py build/asan/sanitizer-log

# Both ends of the node transport as threads of one program without MPI, in whose libraries this
# sanitizer sees races that are none. It knows no layout of memory that is too random.
tsan: deps
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(jobs) --target unit_lane_threads unit_progress_file
	$$(setarch -R true 2>/dev/null && echo setarch -R) ctest --preset tsan -R '^unit\.(lane_threads|progress_file)$$'

bench: build
	@PYTHON=$(python) tools/run_benches.sh $(build)

# The documentation as a site, in build/docs; any warning is an error.
docs: deps
	@$(python) docs/site/build.py build/docs
	@echo "file://$(CURDIR)/build/docs/index.html"

# What needs no build: that no include runs against the layers, and no type is defined twice.
check: deps
	@$(python) tools/check_layers.py
	@$(python) tools/check_names.py

format:
	@tools/install_deps.sh --all
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' | xargs clang-format -i
	@git ls-files '*.cmake' '*CMakeLists.txt' | xargs .venv/bin/gersemi -i
	@.venv/bin/ruff format -q . && .venv/bin/ruff check -q --fix .
	@codespell $$(git ls-files)

clean:
	rm -rf build results

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the fuzz targets of a build with libFuzzer, and those in Python with Atheris.
#   tools/run_fuzzers.sh FUZZ_BUILD PYTHON_BUILD SECONDS JOBS [NAME...]
# PYTHON_BUILD is the build whose modules those in Python use. Each target runs that many seconds,
# JOBS at a time, from its corpus in tests/fuzz and what earlier runs have found in
# FUZZ_BUILD/corpus. An input that fails is kept in FUZZ_BUILD/found. When the defect is mended, it
# goes to the corpus in tests/fuzz, whose inputs every `make test` replays. CONTRIBUTING.md says how
# inputs that reach new code get there.
set -euo pipefail
build=$(realpath "$1")
PILLION_BUILD=$(realpath "$2")
export build PILLION_BUILD PYTHONPATH=$PILLION_BUILD/python seconds=$3
jobs=$4
shift 4
cd "$(dirname "$0")/.."
export ASAN_OPTIONS=external_symbolizer_path=$(command -v addr2line) UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/found"
[ $# -gt 0 ] || set -- attached configuration idx publication saved_state take compressed view \
  products

run_one() {
  local name=$1 command
  mkdir -p "$build/corpus/$name"
  command=("$build/tests/fuzz/fuzz_$name")
  [ -e "tests/fuzz/fuzz_$name.py" ] && command=(.venv/bin/python tests/fuzz/run_atheris.py "$name")
  if "${command[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -print_funcs=0 -artifact_prefix="$build/found/$name-" \
    "$build/corpus/$name" "tests/fuzz/corpus/$name" >"$build/found/$name.log" 2>&1; then
    echo "fuzz $name: $(sed -n 's/stat::number_of_executed_units: *//p' "$build/found/$name.log") inputs, no failure"
  else
    echo "fuzz $name: FAILED; see $build/found/$name.log"
    return 1
  fi
}
export -f run_one
printf '%s\n' "$@" | xargs -P "$jobs" -I NAME bash -c 'run_one NAME'

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the compiled tests and the Python tests of a build, then prints what each folder took.
#   tools/run_tests.sh BUILD_DIRECTORY JOBS WORKERS
# A Python test that fails is run once more, by itself: on a loaded machine a time limit may have
# been too short. If it passes then, it is listed as flaky, which is a defect to mend, and does not
# fail the run. More than three failures are never repeated.
set -euo pipefail
build=$(realpath "$1")
jobs=$2
workers=$3
cd "$(dirname "$0")/.."
python=.venv/bin/python
mkdir -p "$build/reports"
rm -f "$build"/reports/*.xml

ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 300 -j "$jobs" \
  --output-junit "$build/reports/ctest.xml"

cache=$build/reports/cache
flaky=
if ! tools/run_pytest.sh "$build" "$workers" tests; then
  failed=$("$python" - "$cache/v/cache/lastfailed" <<'PYTHON'
import json, sys

print(*json.load(open(sys.argv[1])), sep="\n")
PYTHON
  )
  [ "$(wc -l <<<"$failed")" -le 3 ] || exit 1
  PILLION_BUILD=$build "$python" -m pytest -q -o "cache_dir=$cache" --last-failed tests
  flaky=$failed
fi

tools/check_budget.py ${PILLION_STRICT_BUDGET:+--strict} "$build"/reports/*.xml
[ -z "$flaky" ] || printf 'FLAKY: failed once, passed alone:\n%s\n' "$flaky"

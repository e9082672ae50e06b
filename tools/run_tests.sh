#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the compiled tests and the Python tests of a build, then prints what each folder took.
#   tools/run_tests.sh BUILD_DIRECTORY JOBS WORKERS
# tools/run_pytest.sh says what becomes of Python tests that fail.
set -euo pipefail
build=$(realpath "$1")
jobs=$2
workers=$3
cd "$(dirname "$0")/.."
mkdir -p "$build/reports"
rm -f "$build"/reports/*.xml

ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 300 -j "$jobs" \
  --output-junit "$build/reports/ctest.xml"
tools/run_pytest.sh "$build" "$workers" tests

tools/check_budget.py ${PILLION_STRICT_BUDGET:+--strict} "$build"/reports/*.xml
[ ! -s "$build/reports/flaky" ] || cat "$build/reports/flaky"

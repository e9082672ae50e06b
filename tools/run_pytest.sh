#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Python tests of a build: first several files at a time, then those that are marked `alone`,
# one after the other, because they measure time.
#   tools/run_pytest.sh BUILD_DIRECTORY WORKERS ARGUMENT_OF_PYTEST...
# Reports for tools/check_budget.py and the list of failures are left in BUILD_DIRECTORY/reports.
set -euo pipefail
build=$(realpath "$1")
workers=$2
shift 2
cd "$(dirname "$0")/.."
reports=$build/reports
mkdir -p "$reports"
rm -rf "$reports"/pytest*.xml "$reports/cache"

export PILLION_BUILD=$build
no_tests=5  # the status of pytest when it has selected none
result=0
run_part() {
  local status=0
  .venv/bin/python -m pytest -q -o "cache_dir=$reports/cache" "$@" || status=$?
  [ $status = 0 ] || [ $status = $no_tests ] || result=1
}
run_part -n "$workers" --dist loadfile -m "not alone" --junit-xml "$reports/pytest.xml" "$@"
run_part -m alone --junit-xml "$reports/pytest-alone.xml" "$@"
exit $result

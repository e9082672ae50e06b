#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Python tests of a build: first several files at a time, then those that are marked `alone`,
# one after the other, because they measure time.
#   tools/run_pytest.sh BUILD_DIRECTORY WORKERS ARGUMENT_OF_PYTEST...
# A test that fails is run once more, by itself: on a loaded machine a time limit may have been too
# short. If it passes then, it is listed as flaky, which is a defect to mend, and does not fail the
# run. More than three failures are never repeated. Reports for tools/check_budget.py are left in
# BUILD_DIRECTORY/reports.
set -euo pipefail
build=$(realpath "$1")
workers=$2
shift 2
cd "$(dirname "$0")/.."
python=.venv/bin/python
reports=$build/reports
mkdir -p "$reports"
# Failures of an earlier run would be repeated too.
rm -rf "$reports"/pytest*.xml "$reports/cache" "$reports/flaky"

export PILLION_BUILD=$build
pytest=("$python" -m pytest -q -o "cache_dir=$reports/cache")
no_tests=5  # the status of pytest when it has selected none

status=0
"${pytest[@]}" -n "$workers" --dist loadfile -m "not alone" --junit-xml "$reports/pytest.xml" "$@" || status=$?
status_alone=0
"${pytest[@]}" -m alone --junit-xml "$reports/pytest-alone.xml" "$@" || status_alone=$?
[ $status = $no_tests ] && [ $status_alone = 0 ] && status=0
[ $status_alone = $no_tests ] && status_alone=0
[ $status = 0 ] && [ $status_alone = 0 ] && exit 0

failed=$("$python" - "$reports/cache/v/cache/lastfailed" <<'PYTHON'
import json, sys

print(*json.load(open(sys.argv[1])), sep="\n")
PYTHON
)
[ "$(wc -l <<<"$failed")" -le 3 ] || exit 1
"${pytest[@]}" --last-failed "$@"
printf 'FLAKY: failed once, passed alone:\n%s\n' "$failed" | tee "$reports/flaky"

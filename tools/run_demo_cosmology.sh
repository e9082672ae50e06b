#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo of cosmology: 128^3 particles and cells from z = 49 to today, analysed in a sidecar, and
# a report that sets what was found beside theory.
#   tools/run_demo_cosmology.sh BUILD_DIRECTORY OUTPUT_DIRECTORY [NAME=VALUE]...
# Names and values are the example's parameters; amplitudes at the start are those expected, without
# scatter, so that one small box can be compared with theory. PYTHON names the interpreter that has the packages;
# RANKS is the number of simulation ranks, besides which there is one sidecar.
set -euo pipefail

build=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
shift 2
python=$(realpath -s "${PYTHON:-python3}")
root=$(realpath "$(dirname "$0")/..")
ranks=${RANKS:-$((${CORES:-$(nproc)} > 2 ? ${CORES:-$(nproc)} - 1 : 1))}

# shellcheck source=tools/mpirun_options.sh
. "$root/tools/mpirun_options.sh"
cd "$root/miniapps/cosmology"
rm -rf "$output"/{compare,distribution,forest,matter,overview}
echo "demo: cosmology on $ranks rank(s), analyses in a sidecar; about three minutes on two cores"
mpirun "${mpirun_options[@]}" -n $((ranks + 1)) "$build/miniapps/cosmology/cosmology" \
  output="$output" fixed=1 "$@" >"$output/log" || {
  echo "demo: the simulation stopped; the end of $output/log:" >&2
  tail -n 15 "$output/log" >&2
  exit 1
}
export PYTHONPATH="$root/python"
"$python" theory.py "$output"
"$python" -m pillion report "$output"

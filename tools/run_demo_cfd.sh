#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo of computational fluid dynamics: the Taylor-Green vortex in spectral elements, compressed,
# drawn and averaged while it decays; synchronously, asynchronously and hybrid. Ends with a film, and
# a page that sets the modes beside each other.
#   tools/run_demo_cfd.sh BUILD_DIRECTORY OUTPUT_DIRECTORY [NAME=VALUE]...
# Names and values are the example's parameters. PYTHON names the interpreter that has the packages;
# RANKS is the number of all ranks, the same in each mode.
set -euo pipefail

build=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
shift 2
python=$(realpath -s "${PYTHON:-python3}")
root=$(realpath "$(dirname "$0")/..")
cores=${CORES:-$(nproc)}
ranks=${RANKS:-$((cores > 2 ? cores : 2))}

# shellcheck source=tools/mpirun_options.sh
. "$root/tools/mpirun_options.sh"

# MODE and where the first and the second stage of each task run.
run() {
  local mode=$1 first=$2 then=$3
  rm -rf "${output:?}/$mode"
  mkdir "$output/$mode"
  cd "$output/$mode"
  sed -e "s/first: simulation, then: sidecar/first: $first, then: $then/" \
    "$root/miniapps/taylor_green/demo.yaml" >pillion.yaml
  if [ "$then" = simulation ]; then sed -i '/^sidecars:/d' pillion.yaml; fi
  echo "demo: a vortex on $ranks ranks, $mode"
  mpirun "${mpirun_options[@]}" -n "$ranks" "$build/miniapps/taylor_green/taylor_green" \
    case=vortex elements=4 reynolds=200 end_time=10 "${@:4}" >log 2>&1 || {
    echo "demo: the simulation stopped; the end of $output/$mode/log:" >&2
    tail -n 15 log >&2
    exit 1
  }
}

run synchronous simulation simulation "$@"
run asynchronous sidecar sidecar "$@"
run hybrid simulation sidecar "$@"
export PYTHONPATH="$root/python"
for mode in synchronous asynchronous hybrid; do
  "$python" -m pillion report "$output/$mode/results" >/dev/null
done
"$python" "$root/miniapps/taylor_green/compare.py" "$output"

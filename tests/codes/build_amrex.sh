#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds AMReX, its tools for plotfiles and the program write_plotfiles from the sources in the
# folder PILLION_CODES, without optimisation, in about four minutes.
#   tests/codes/build_amrex.sh BUILD_DIRECTORY
set -euo pipefail

here=$(realpath "$(dirname "$0")")
mkdir -p "$1"
cd "$1"
if [ ! -d amrex ]; then
  tar -xf "${PILLION_CODES:?the folder with sources of codes}"/amrex-*.tar.xz
  # The snapshot lacks what only its installation and its version need.
  echo "# 23.04" > amrex/CHANGES
fi
cmake -S amrex -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  -DAMReX_SPACEDIM=3 -DAMReX_MPI=OFF -DAMReX_PARTICLES=OFF -DAMReX_LINEAR_SOLVERS=OFF \
  -DAMReX_FORTRAN=OFF -DAMReX_AMRLEVEL=OFF -DAMReX_PLOTFILE_TOOLS=ON -DAMReX_INSTALL=OFF >cmake.log
ninja -C build amrex fcompare fextrema >ninja.log
includes=$(find build -name AMReX_Config.H -printf '-I%h ')
# shellcheck disable=SC2046,SC2086
c++ -std=c++17 -O0 "$here/write_plotfiles.cpp" $includes -Iamrex/Src/Base -Iamrex/Src/Base/Parser \
  $(find build -name 'libamrex*.a') -lpthread -ldl -o write_plotfiles

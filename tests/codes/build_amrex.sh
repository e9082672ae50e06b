#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds AMReX with MPI, particles and embedded boundaries, and its tools for plotfiles, from the
# sources in the folder PILLION_CODES, without optimisation, in about six minutes.
#   tests/codes/build_amrex.sh BUILD_DIRECTORY
set -euo pipefail

mkdir -p "$1"
cd "$1"
if [ ! -d amrex ]; then
  tar -xf "${PILLION_CODES:?the folder with sources of codes}"/amrex-*.tar.xz
  # The snapshot lacks what only its installation and its version need.
  echo "# 23.04" > amrex/CHANGES
fi
cmake -S amrex -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  -DAMReX_SPACEDIM=3 -DAMReX_MPI=ON -DAMReX_PARTICLES=ON -DAMReX_EB=ON -DAMReX_LINEAR_SOLVERS=OFF \
  -DAMReX_FORTRAN=OFF -DAMReX_AMRLEVEL=OFF -DAMReX_PLOTFILE_TOOLS=ON -DAMReX_INSTALL=OFF >cmake.log
ninja -C build amrex fcompare fextrema >ninja.log

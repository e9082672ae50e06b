#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Catalyst with its examples and catalyst_replay from the sources in the folder PILLION_CODES,
# in about a minute.
#   tests/codes/build_catalyst.sh BUILD_DIRECTORY
set -euo pipefail

mkdir -p "$1"
cd "$1"
if [ ! -d catalyst ]; then
  tar -xf "${PILLION_CODES:?the folder with sources of codes}"/catalyst-*.tar.xz
fi
CC=mpicc CXX=mpicxx cmake -S catalyst -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX="$PWD/install" -DCMAKE_INSTALL_LIBDIR=lib -DCATALYST_USE_MPI=ON \
  -DCATALYST_BUILD_TESTING=OFF
ninja -C build install
for example in about adaptor0 replay; do
  CC=mpicc CXX=mpicxx cmake -S "catalyst/examples/$example" -B "examples/$example" -G Ninja \
    -Dcatalyst_DIR="$PWD/install/lib/cmake/catalyst-2.0" -DBUILD_SHARED_LIBS=ON \
    -DBUILD_TESTING=ON -Dcatalyst_replay_command="$PWD/build/bin/catalyst_replay"
  ninja -C "examples/$example"
done

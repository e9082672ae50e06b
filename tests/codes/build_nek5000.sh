#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Unpacks Nek5000 from the folder PILLION_CODES, and builds its tool genmap and the libraries that
# all cases link, in about a minute. Cases are built in folders beside it: see nek_cases.py.
#   tests/codes/build_nek5000.sh DIRECTORY
set -euo pipefail

cd "$1"
[ -d Nek5000 ] || tar -xf "${PILLION_CODES:?the folder with sources of codes}/nek5000.tar.xz"
export NEK_SOURCE_ROOT=$PWD/Nek5000 NEK_DEPS_LOCAL_SRC=1 FC=mpifort CC=mpicc
(cd Nek5000/tools && FC=gfortran CC=gcc ./maketools genmap)
mkdir -p libraries
cd libraries
touch libraries.usr
cp "$NEK_SOURCE_ROOT/core/SIZE.template" SIZE
"$NEK_SOURCE_ROOT/bin/nekconfig" -build-dep

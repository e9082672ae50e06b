#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the program amrex_blueprint with AMReX's source for Blueprint, unchanged, from an AMReX and a
# Catalyst that are built already. AMReX uses Conduit in C++, which Catalyst keeps to itself; so the
# program gets the objects of the Conduit that Catalyst was built from.
#   build_amrex_blueprint.sh FOLDER_OF_AMREX FOLDER_OF_CATALYST PROGRAM
set -euo pipefail

here=$(realpath "$(dirname "$0")")
amrex=$1 catalyst=$2 program=$3
work=$program.build
mkdir -p "$work/conduit"
find "$catalyst"/{catalyst,build}/thirdparty/conduit/{conduit,blueprint} -name '*.h*' ! -name '*.in' \
  -exec ln -sf {} "$work/conduit" \; -exec ln -sf {} "$work" \;
# Only AMReX's writer of files, which is not called, needs the rest of Conduit.
cat > "$work/conduit/conduit_relay.hpp" <<'HEADER'
#pragma once
#include <conduit.hpp>
namespace conduit::relay::io {
inline void save(const Node&, const std::string&, const std::string&) {}
}
HEADER
includes=$(find "$amrex/build" -name AMReX_Config.H -printf '-I%h ')
objects=$(find "$catalyst/build/thirdparty/conduit" -name '*.o' ! -path '*libb64*/examples/*')
# shellcheck disable=SC2086
mpicxx -std=c++17 -O0 -w "$here/amrex_blueprint.cpp" \
  "$amrex/amrex/Src/Extern/Conduit/AMReX_Conduit_Blueprint.cpp" $includes \
  -I"$amrex"/amrex/Src/{Base,Base/Parser,Particle,AmrCore,Boundary,EB,Extern/Conduit} \
  -I"$work" -I"$catalyst/install/include/catalyst-2.0" $objects \
  $(find "$amrex/build" -name 'libamrex*.a') -L"$catalyst/install/lib" -lcatalyst \
  -Wl,-rpath,"$catalyst/install/lib" -lpthread -ldl -o "$program"

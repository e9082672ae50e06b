#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Nyx's Exec/MiniSB, adiabatic gas and dark matter in double precision, as build_nyx.sh does.
#   tests/codes/build_nyx_minisb.sh BUILD_DIRECTORY
exec "$(dirname "$0")/build_nyx.sh" "$1" MiniSB

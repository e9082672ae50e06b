#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Nyx's Exec/LyA, gas with heating and cooling and dark matter, from the sources in the folder
# PILLION_CODES, without Pillion: Nyx3d.plain.ex, in about ten minutes of two cores. Then patches it, so
# that `make PILLION_HOME=PREFIX` (see nyx_runs.py) compiles one file and links.
#   tests/codes/build_nyx.sh BUILD_DIRECTORY
set -euo pipefail

here=$(realpath "$(dirname "$0")")
mkdir -p "$1"
cd "$1"
if [ ! -d Nyx ]; then
  tar -xf "${PILLION_CODES:?the folder with sources of codes}"/amrex-*.tar.xz
  tar -xf "$PILLION_CODES"/nyx.tar.xz
fi
cat >make.sh <<'END'
#!/usr/bin/env bash
# make.sh WORD ...: Nyx's make, with the words that every build of it has.
set -euo pipefail
cd "$(dirname "$0")/Nyx/Exec/LyA"
exec make -j2 AMREX_HOME=../../../amrex DIM=3 COMP=gnu USE_MPI=TRUE USE_OMP=FALSE CXXSTD=c++17 \
  TINY_PROFILE=FALSE SUNDIALS_ROOT=/usr SUNDIALS_LIB_DIR="$(dirname "$(gcc -print-file-name=libsundials_cvode.so)")" \
  "$@"
END
chmod +x make.sh
if [ ! -x Nyx3d.plain.ex ]; then
  ./make.sh >make.log
  mv Nyx/Exec/LyA/Nyx3d.*.ex Nyx3d.plain.ex
fi
patch -N -d Nyx -p1 <"$here/../../adapters/amrex/nyx/nyx.patch"

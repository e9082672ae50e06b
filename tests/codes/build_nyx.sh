#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Nyx without Pillion from the sources in the folder PILLION_CODES: Nyx3d.plain.ex. By default
# Exec/LyA, gas with heating and cooling and dark matter, in about ten minutes of two cores. Then
# patches it, so that `make.sh PILLION_HOME=PREFIX` compiles one file and links.
#   tests/codes/build_nyx.sh BUILD_DIRECTORY [FOLDER_OF_EXEC]
set -euo pipefail

here=$(realpath "$(dirname "$0")")
folder=Nyx/Exec/${2:-LyA}
mkdir -p "$1"
cd "$1"
if [ ! -d Nyx ]; then
  tar -xf "${PILLION_CODES:?the folder with sources of codes}"/amrex-*.tar.xz
  tar -xf "$PILLION_CODES"/nyx.tar.xz
fi
sundials=$(dirname "$(gcc -print-file-name=libsundials_cvode.so)")
cat >make.sh <<END
#!/usr/bin/env bash
# make.sh WORD ...: Nyx's make, with the words that every build of it has.
set -euo pipefail
cd "\$(dirname "\$0")/$folder"
exec make -j2 AMREX_HOME=../../../amrex DIM=3 COMP=gnu USE_MPI=TRUE USE_OMP=FALSE CXXSTD=c++17 \\
  TINY_PROFILE=FALSE SUNDIALS_ROOT=/usr SUNDIALS_LIB_DIR=$sundials "\$@"
END
chmod +x make.sh
if [ ! -x Nyx3d.plain.ex ]; then
  ./make.sh >make.log
  mv "$folder"/Nyx3d.*.ex Nyx3d.plain.ex
fi
if ! grep -q pillion "$folder/../Make.Nyx"; then
  patch -d Nyx -p1 <"$here/../../adapters/amrex/nyx/nyx.patch"
fi

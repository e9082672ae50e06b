#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what Pillion is built, tested and run with, and nothing else: Debian packages, and Python
# packages in the private virtual environment .venv of this checkout. Says first what it will do.
#   tools/install_deps.sh          what `make demo` and `make test` need
#   tools/install_deps.sh --all    and what `make test-all` and `make format` need
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential gfortran cmake ninja-build
  libopenmpi-dev openmpi-bin libhwloc-dev libyaml-cpp-dev libfmt-dev libfftw3-dev libfftw3-mpi-dev
  libhdf5-openmpi-dev doctest-dev
  pkg-config zlib1g-dev liblz4-dev libzfp-dev libzstd-dev liblzma-dev libbz2-dev
  libpng-dev libfreetype-dev fonts-dejavu-core
  liblammps-dev lammps-examples
  python3 python3-dev python3-venv spin tmux
)
requirements=(tests/requirements.txt docs/requirements.txt)
if [ "${1:-}" = --all ]; then
  packages+=(clang-format codespell chromium libsimgrid-dev paraview python3-paraview xvfb)
  requirements+=(tests/requirements-all.txt)
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  echo "install_deps: Debian packages to install: ${missing[*]}"
  if [ "$(id -u)" = 0 ]; then
    as_root=()
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo)
  else
    echo "install_deps: you are not root. Ask for these packages, or run as root:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# What the package pillion imports, and what it is built with.
of_package=$(mktemp)
trap 'rm -f "$of_package"' EXIT
python3 -c '
import tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
print(*project["build-system"]["requires"], *project["project"]["dependencies"], sep="\n")
' >"$of_package"
requirements=("$of_package" "${requirements[@]}")

# A stamp holds what is installed, so that a second run costs nothing.
stamp=.venv/installed-requirements
wanted=$(cat "${requirements[@]}")
if [ ! -x .venv/bin/python ]; then
  echo "install_deps: making the virtual environment .venv"
  python3 -m venv .venv
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "install_deps: Python packages to install in .venv:" $(sed 's/#.*//' "${requirements[@]}")
  for file in "${requirements[@]}"; do
    .venv/bin/python -m pip install -q --disable-pip-version-check -r "$file"
  done
  printf '%s' "$wanted" >"$stamp"
fi

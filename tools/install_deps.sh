#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what Pillion needs: Debian packages, and Python packages in the private virtual
# environment .venv of this checkout. Prints what it will install first. Sets are cumulative where
# they need each other:
#   tools/install_deps.sh run       build the library and `make demo` (the default)
#   tools/install_deps.sh stages    build every stage, Fortran and the other demos
#   tools/install_deps.sh docs      `make docs`
#   tools/install_deps.sh test      `make test`, which builds the documentation too
#   tools/install_deps.sh lint      `make lint`, `make format`
#   tools/install_deps.sh fuzz      `make test-fuzz`
#   tools/install_deps.sh cluster   `make test-cluster`: Slurm
#   tools/install_deps.sh develop   `make test-all`: other people's codes, a browser, ParaView
# A second run installs nothing and takes no time.
set -euo pipefail
export LC_ALL=C  # one order for sort, comm and Python
cd "$(dirname "$0")/.."

packages=()
requirements=()
add_set() {
  case "$1" in
    run)
      packages+=(build-essential cmake ninja-build pkg-config libopenmpi-dev openmpi-bin
        libhwloc-dev libyaml-cpp-dev libfmt-dev nlohmann-json3-dev liblammps-dev lammps-examples
        python3 python3-dev python3-venv)
      ;;
    stages)
      add_set run
      packages+=(gfortran libfftw3-dev libfftw3-mpi-dev libhdf5-openmpi-dev zlib1g-dev liblz4-dev
        libzfp-dev libzstd-dev liblzma-dev libbz2-dev libpng-dev libfreetype-dev fonts-dejavu-core)
      ;;
    docs)
      add_set run
      requirements+=(docs/requirements.txt)
      ;;
    test)
      add_set stages
      add_set docs
      packages+=(doctest-dev spin tmux)
      requirements+=(tests/requirements.txt)
      ;;
    lint)
      packages+=(clang-format codespell)
      requirements+=(tools/requirements-lint.txt)
      ;;
    fuzz)
      add_set test
      packages+=(clang-16 libclang-rt-16-dev)
      requirements+=(tests/requirements-fuzz.txt)
      ;;
    cluster)
      add_set test
      packages+=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge iproute2 util-linux)
      ;;
    develop)
      add_set test
      add_set lint
      add_set fuzz
      packages+=(chromium code-saturne code-saturne-bin code-saturne-data code-saturne-doc
        code-saturne-include libpnetcdf-dev libsimgrid-dev paraview python3-paraview xvfb)
      requirements+=(tests/requirements-all.txt)
      ;;
    *)
      echo "install_deps: there is no set '$1'; the sets are run, stages, docs, test, lint, fuzz, cluster, develop" >&2
      exit 2
      ;;
  esac
}
[ $# -gt 0 ] || set -- run
for name in "$@"; do add_set "$name"; done

install_packages() {
  local missing=() package state
  for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "install_deps: Debian packages to install: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      echo "install_deps: you are not root. Ask for these packages, or run as root:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  # Package lists that are fresh enough save a download.
  local apt=("${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600)
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 || {
    "${apt[@]}" update
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
  }
}

# What the package pillion imports and is built with, and what the sets add, each line once. A stamp
# in .venv keeps the lines that are installed.
install_requirements() {
  local wanted stamp=.venv/pillion-requirements
  wanted=$(python3 - "${requirements[@]}" <<'PYTHON'
import sys, tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
lines = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
for name in sys.argv[1:]:
    with open(name) as file:
        lines += [line.split("#")[0].strip() for line in file]
print(*sorted({line for line in lines if line}), sep="\n")
PYTHON
  )
  if [ ! -x .venv/bin/python ]; then
    echo "install_deps: creating the virtual environment .venv"
    python3 -m venv .venv
  fi
  touch "$stamp"
  local missing
  missing=$(comm -13 "$stamp" <(printf '%s\n' "$wanted"))
  [ -n "$missing" ] || return 0
  echo "install_deps: Python packages to install in .venv:" $missing
  printf '%s\n' "$missing" >"$stamp.missing"
  .venv/bin/python -m pip install -q --disable-pip-version-check -r "$stamp.missing"
  sort -u "$stamp" "$stamp.missing" -o "$stamp"
  rm "$stamp.missing"
}

install_packages
install_requirements

# SPDX-License-Identifier: BSD-3-Clause
# To be sourced by run.sh and intransit.sh: builds their programs with SimGrid's compiler, and runs
# them on the simulated machine. What was built goes to $BUILD, results to $OUT.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
src=$here/../src
BUILD=${BUILD:-$here/../build/study}
OUT=${OUT:-$here/results}
LIMIT=${LIMIT:-900}  # seconds a point may take
mkdir -p "$BUILD" "$OUT"

build() {  # program, its sources in this folder without .cpp
  local program=$BUILD/$1 sources=()
  shift
  if [ -e "$program" ] &&
     [ -z "$(find "$here" "$src" -name '*.[ch]pp' -newer "$program")" ]; then return; fi
  for name in "$@" simulated simulated_mpi; do sources+=("$here/$name.cpp"); done
  local flags=(-std=c++20 -O2 -ffunction-sections -fvisibility=hidden -I"$here" -I"$src" -I"$here/../include")
  timeout 300 smpicxx "${flags[@]}" -Wl,--gc-sections,-Bsymbolic -o "$program" "${sources[@]}" \
    "$src"/redistribution/*.cpp "$src"/layout/{tiling,division,boxes}.cpp \
    "$src"/comm/{agreement,communicator,message}.cpp "$src"/node/{shared_file,process}.cpp \
    "$src"/base/{clock,copy,text}.cpp "$src"/model/block.cpp -lfmt
}

# A link gives each message its full rate: none of the corrections for TCP that SimGrid has by
# default. 0.4 us of CPU for each message on each side.
simulate() {  # folder, simulation ranks, analysis ranks, arguments of machine.py, --, program, its arguments
  local at=$1 simulation=$2 analysis=$3 machine=()
  shift 3
  while [ "$1" != -- ]; do machine+=("$1"); shift; done
  shift
  python3 "$here/machine.py" "$at" "$simulation" "$analysis" "${machine[@]}"
  timeout "$LIMIT" smpirun -quiet -np $((simulation + analysis)) -platform "$at/platform.xml" \
    -hostfile "$at/hosts" --log=root.thresh:error \
    --cfg=smpi/privatization:no --cfg=smpi/simulate-computation:no \
    --cfg=contexts/stack-size:"${SMPI_STACK:-256}" --cfg=contexts/guard-size:0 \
    --cfg=network/model:SMPI --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0 \
    --cfg=network/weight-S:0 --cfg=network/bandwidth-factor:1 --cfg=network/latency-factor:1 \
    --cfg=smpi/os:0:4e-7:0 --cfg=smpi/ois:0:4e-7:0 --cfg=smpi/or:0:4e-7:0 \
    --cfg=smpi/send-is-detached-thresh:8192 --cfg=smpi/async-small-thresh:8192 \
    --cfg=smpi/shared-malloc-blocksize:67108864 --cfg=surf/precision:1e-7 \
    "$@"
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the scale study with SimGrid's compiler and runs it: `run.sh small` (seconds), `run.sh
# full` (the paper's sizes), or `run.sh one CELLS SIMULATION ANALYSIS [boxes|blocks] [--spread]`.
# Results, a line of JSON a point, go to results/ (or $OUT); what was built, to $BUILD.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../src
BUILD=${BUILD:-$here/../build/study}
OUT=${OUT:-$here/results}
LIMIT=${LIMIT:-900}  # seconds a point may take
COMPONENTS=10
mkdir -p "$BUILD" "$OUT"

build() {
  if [ -e "$BUILD/scale" ] &&
     [ -z "$(find "$here" "$src" -name '*.[ch]pp' -newer "$BUILD/scale")" ]; then return; fi
  local flags=(-std=c++20 -O2 -ffunction-sections -fvisibility=hidden -I"$here" -I"$src" -I"$here/../include")
  timeout 300 smpicxx "${flags[@]}" -Wl,--gc-sections,-Bsymbolic -o "$BUILD/scale" \
    "$here"/{scale,by_box,simulated,simulated_mpi}.cpp "$src"/redistribution/*.cpp \
    "$src"/layout/{tiling,curve,moves}.cpp "$src"/comm/{agreement,communicator,message,sparse}.cpp \
    "$src"/node/{shared_file,process}.cpp "$src"/base/{copy,text}.cpp "$src"/model/block.cpp -lfmt
}

# A link gives each message its full rate: none of the corrections for TCP that SimGrid has by
# default. 0.4 us of CPU for each message on each side.
one() {  # cells simulation analysis layout [--spread]
  local cells=$1 simulation=$2 analysis=$3 layout=${4:-boxes} spread=${5:-} at=$BUILD/point
  python3 "$here/platform.py" "$at" "$simulation" "$analysis" $spread
  local begin=$SECONDS
  timeout "$LIMIT" smpirun -quiet -np $((simulation + analysis)) -platform "$at/platform.xml" \
    -hostfile "$at/hosts" --log=root.thresh:error \
    --cfg=smpi/privatization:no --cfg=smpi/simulate-computation:no \
    --cfg=contexts/stack-size:256 --cfg=contexts/guard-size:0 \
    --cfg=network/model:SMPI --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0 \
    --cfg=network/weight-S:0 --cfg=network/bandwidth-factor:1 --cfg=network/latency-factor:1 \
    --cfg=smpi/os:0:4e-7:0 --cfg=smpi/ois:0:4e-7:0 --cfg=smpi/or:0:4e-7:0 \
    --cfg=smpi/send-is-detached-thresh:8192 --cfg=smpi/async-small-thresh:8192 \
    --cfg=smpi/shared-malloc-blocksize:67108864 --cfg=surf/precision:1e-7 \
    "$BUILD/scale" "$cells" $COMPONENTS "$analysis" "${BROADCASTS:-24}" "$layout" |
    sed "s/^{/{\"placement\": \"${spread:+spread}${spread:-behind}\", /; s/spread--spread/spread/"
  echo "$cells^3, $simulation + $analysis ranks, $layout: $((SECONDS - begin)) s of this machine" >&2
}

build
case ${1:-small} in
  small)
    { one 128 72 24; one 128 72 24 blocks; } | tee "$OUT/small.jsonl" ;;
  full)
    for analysis in 64 128 256 512 1024 2048 4096; do
      one 1024 $((8192 - analysis)) $analysis
    done | tee "$OUT/ratio.jsonl"
    for cells in 128 256 512 1024 2048; do one $cells 7168 1024; done | tee "$OUT/grid.jsonl"
    { one 1024 7168 1024 blocks; one 1024 7168 1024 boxes --spread; } | tee "$OUT/other.jsonl" ;;
  one) shift; one "$@" ;;
  *) echo "run.sh: $1 is none of small, full, one" >&2; exit 2 ;;
esac

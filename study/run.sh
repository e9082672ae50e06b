#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the scale study with SimGrid's compiler and runs it: `run.sh small` (seconds), `run.sh
# half` (4096 ranks, a quarter of an hour), `run.sh full` (8192 as in the paper, 40 minutes), or
# `run.sh one CELLS SIMULATION ANALYSIS [boxes|blocks|scattered] [--spread]`.
# Results, a line of JSON a point, go to results/ (or $OUT), those of `half` to half/ in it; what
# was built, to $BUILD.
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
    "$src"/node/{shared_file,process}.cpp "$src"/base/{copy,room,text}.cpp "$src"/model/block.cpp -lfmt
}

# A link gives each message its full rate: none of the corrections for TCP that SimGrid has by
# default. 0.4 us of CPU for each message on each side.
one() {  # cells simulation analysis layout [--spread]
  local cells=$1 simulation=$2 analysis=$3 layout=${4:-boxes} spread=${5:-} at
  at=$BUILD/point-$cells-$simulation-$analysis-$layout$spread
  python3 "$here/machine.py" "$at" "$simulation" "$analysis" $spread
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
    "$BUILD/scale" "$cells" $COMPONENTS "$analysis" "${BROADCASTS:-16}" "$layout" |
    sed "s/^{/{\"placement\": \"${spread:+spread}${spread:-behind}\", /; s/spread--spread/spread/"
  echo "$cells^3, $simulation + $analysis ranks, $layout: $((SECONDS - begin)) s of this machine" >&2
}

# cells of the sweep over ratios, ranks in all, the most that analyse
sizes() {
  local cells=$1 ranks=$2 most=$3 best=$(($2 / 8))
  for ((analysis = 64; analysis <= most; analysis *= 2)); do
    one "$cells" $((ranks - analysis)) $analysis
  done | tee "$OUT/ratio.jsonl"
  for ((side = 128; side <= 2 * cells; side *= 2)); do
    one $side $((ranks - best)) $best
  done | tee "$OUT/grid.jsonl"
  for how in scattered "boxes --spread"; do
    one "$cells" $((ranks - best)) $best $how
  done | tee "$OUT/other.jsonl"
}

build
case ${1:-small} in
  small)
    { one 128 72 24; one 128 72 24 blocks; } | tee "$OUT/small.jsonl" ;;
  half) OUT=$OUT/half; mkdir -p "$OUT"; sizes 1024 4096 2048 ;;
  full) sizes 1024 8192 4096 ;;
  one) shift; one "$@" ;;
  *) echo "run.sh: $1 is none of small, half, full, one" >&2; exit 2 ;;
esac

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the scale study with SimGrid's compiler and runs it: `run.sh small` (seconds), `run.sh
# half` (4096 ranks, a quarter of an hour), `run.sh full` (8192 as in the paper, 40 minutes), or
# `run.sh one CELLS SIMULATION ANALYSIS [boxes|blocks|scattered] [--spread]`.
# Results, a line of JSON a point, go to results/ (or $OUT), those of `half` to half/ in it; what
# was built, to $BUILD.
set -euo pipefail
# shellcheck source=study/smpi.sh
. "$(dirname "$0")/smpi.sh"
COMPONENTS=10

one() {  # cells simulation analysis layout [--spread]
  local cells=$1 simulation=$2 analysis=$3 layout=${4:-boxes} spread=${5:-} begin=$SECONDS
  simulate "$BUILD/point-$cells-$simulation-$analysis-$layout$spread" "$simulation" "$analysis" \
    $spread -- "$BUILD/scale" "$cells" $COMPONENTS "$analysis" "${BROADCASTS:-16}" "$layout" |
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

build scale scale by_box
case ${1:-small} in
  small)
    { one 128 72 24; one 128 72 24 blocks; } | tee "$OUT/small.jsonl" ;;
  half) OUT=$OUT/half; mkdir -p "$OUT"; sizes 1024 4096 2048 ;;
  full) sizes 1024 8192 4096 ;;
  one) shift; one "$@" ;;
  *) echo "run.sh: $1 is none of small, half, full, one" >&2; exit 2 ;;
esac

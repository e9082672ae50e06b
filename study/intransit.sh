#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the study of analyses in transit with SimGrid's compiler and runs it: `intransit.sh small`
# (seconds), `intransit.sh full` (2048 ranks, 1024^3 and 512^3 cells), or `intransit.sh one CELLS
# SIMULATION ANALYSIS EVERY STEPS [thread=0] [only_moves=1]`, no rank for analysis being the
# synchronous way. Results, a line of JSON a point, go to results/ (or $OUT); what was built, to
# $BUILD.
set -euo pipefail
# shellcheck source=study/smpi.sh
. "$(dirname "$0")/smpi.sh"
RANKS=2048

one() {  # cells simulation analysis every steps, NAME=VALUE...
  local begin=$SECONDS kernels
  read -ra kernels < <(python3 "$here/kernels.py" of "$1")
  simulate "$BUILD/point-$1-$2-$3" "$2" "$3" -- --cfg=smpi/test:5e-7 \
    --cfg=smpi/grow-injected-times:no "$BUILD/intransit" "$1" "$3" "$4" "$5" "${kernels[@]}" "${@:6}"
  echo "$1^3, $2 + $3 ranks, every $4 steps: $((SECONDS - begin)) s of this machine" >&2
}

# At the same number of ranks in all, and of simulation ranks.
both() {  # cells every steps, numbers of analysis ranks
  local cells=$1 every=$2 steps=$3 analysis
  one "$cells" $RANKS 0 "$every" "$steps"
  for analysis in "${@:4}"; do
    one "$cells" $((RANKS - analysis)) "$analysis" "$every" "$steps"
    one "$cells" $RANKS "$analysis" "$every" "$steps"
  done
}

build intransit intransit side work
case ${1:-small} in
  small)
    { one 128 96 0 5 20; one 128 72 24 5 20; } | tee "$OUT/intransit-small.jsonl" ;;
  full)
    both 1024 5 20 64 128 192 256 512 1024 | tee "$OUT/intransit.jsonl"
    # Thousands of messages to one or two nodes: the simulator is slow.
    for analysis in 16 32; do
      for every in 5 10; do
        one 1024 $((RANKS - analysis)) $analysis $every $((2 * every))
        one 1024 $RANKS $analysis $every $((2 * every))
      done
    done | tee -a "$OUT/intransit.jsonl"
    both 1024 2 8 64 128 256 512 | tee -a "$OUT/intransit.jsonl"
    both 1024 10 20 64 128 256 | tee -a "$OUT/intransit.jsonl"
    # On as many ranks as constant simulation takes in all.
    for analysis in 128 256 512; do one 1024 $((RANKS + analysis)) 0 5 20; done |
      tee "$OUT/intransit-more.jsonl"
    both 512 5 20 64 128 192 256 512 1024 | tee "$OUT/intransit-512.jsonl" ;;
  probes)  # what the advisor is given, study/advise.py
    for cells in 1024 512; do
      for split in "128 0" "256 0" "512 0" "480 32" "448 64" "384 128" "496 16" "256 256" "64 0" \
                   "1024 0" "768 256" "320 192"; do
        read -ra split <<<"$split"
        one $cells "${split[@]}" 5 10
      done
    done | tee "$OUT/probes.jsonl" ;;
  one) shift; one "$@" ;;
  *) echo "intransit.sh: $1 is none of small, full, probes, one" >&2; exit 2 ;;
esac

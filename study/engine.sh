#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the study of the engine and runs it: `engine.sh small` (16 ranks, seconds), `engine.sh
# full` (16 to 2048 ranks), `engine.sh one RANKS`, or `engine.sh hand-over RANKS SIDECARS CELLS`
# (only publications, of CELLS^3 cells from each simulation rank, to sidecars on nodes of their own).
# Otherwise one rank of eight is a sidecar. Results, a line of JSON for each phase, go to results/
# (or $OUT); what was built, to $BUILD.
set -euo pipefail
# shellcheck source=study/smpi.sh
. "$(dirname "$0")/smpi.sh"
# shellcheck source=study/library.sh
. "$here/library.sh"

# 24 ranks fill a node; the library chooses the sidecars among them. No thread may write progress:
# simulated time passes for ranks alone. Polls that find nothing cost half a microsecond.
run() {  # simulation ranks, ranks on nodes of their own behind them, sidecars, arguments
  local ranks=$(($1 + $2)) folder=$BUILD/engine-$(($1 + $2)) begin=$SECONDS
  rm -rf "$folder"
  mkdir -p "$folder"
  PILLION_PROGRESS=0 PILLION_STAGE_PATH=$BUILD/stages SMPI_STACK=1024 \
    simulate "$folder" "$1" "$2" -- \
    --cfg=surf/precision:1e-9 \
    "$BUILD/engine" "$3" "$folder" "${@:4}"
  rm -rf "$folder"
  echo "$ranks ranks: $((SECONDS - begin)) s of this machine" >&2
}
one() { run "$1" 0 $(($1 / 8)); }  # ranks

build_library
build_engine
case ${1:-small} in
  small) one 16 | tee "$OUT/engine-small.jsonl" ;;
  full) for ranks in 16 64 128 256 512 1024 2048; do one $ranks; done | tee "$OUT/engine.jsonl" ;;
  one) one "$2" ;;
  hand-over) run $(($2 - $3)) "$3" "$3" "$4" ;;
  *) echo "engine.sh: $1 is none of small, full, one, hand-over" >&2; exit 2 ;;
esac

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the study of the engine and runs it: `engine.sh small` (16 ranks, seconds), `engine.sh
# full` (16 to 1024 ranks), or `engine.sh one RANKS`. One rank of eight is a sidecar. Results, a
# line of JSON for each phase, go to results/ (or $OUT); what was built, to $BUILD.
set -euo pipefail
# shellcheck source=study/smpi.sh
. "$(dirname "$0")/smpi.sh"
# shellcheck source=study/library.sh
. "$here/library.sh"

# 24 ranks fill a node; the library chooses the sidecars among them. No thread may write progress:
# simulated time passes for ranks alone. Polls that find nothing cost half a microsecond.
one() {  # ranks
  local ranks=$1 sidecars=$(($1 / 8)) folder=$BUILD/engine-$1 begin=$SECONDS
  rm -rf "$folder"
  mkdir -p "$folder"
  PILLION_PROGRESS=0 PILLION_STAGE_PATH=$BUILD/stages SMPI_STACK=1024 \
    simulate "$folder" $ranks 0 -- \
    --cfg=smpi/iprobe:5e-7 --cfg=smpi/test:5e-7 --cfg=smpi/grow-injected-times:no \
    --cfg=smpi/async-small-thresh:0 \
    "$BUILD/engine" $sidecars "$folder"
  rm -rf "$folder"
  echo "$ranks ranks: $((SECONDS - begin)) s of this machine" >&2
}

build_library
build_engine
case ${1:-small} in
  small) one 16 | tee "$OUT/engine-small.jsonl" ;;
  full) for ranks in 16 64 128 256 512 1024; do one $ranks; done | tee "$OUT/engine.jsonl" ;;
  one) one "$2" ;;
  *) echo "engine.sh: $1 is none of small, full, one" >&2; exit 2 ;;
esac

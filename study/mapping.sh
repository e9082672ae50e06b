#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the study of mappings with SimGrid and runs it: `mapping.sh small` (seconds), `mapping.sh
# full` (study/mapping.md says how long), `mapping.sh one haswell|knl MAPPING [NAME=VALUE]...`
# or `mapping.sh file haswell|knl MAPPING domains|stripes NODES AGGREGATORS`. Results, a line of
# JSON a point, go to results/ (or $OUT); what was built, to $BUILD.
set -euo pipefail
LIMIT=${LIMIT:-3600}  # seconds a point may take
# shellcheck source=study/smpi.sh
. "$(dirname "$0")/smpi.sh"
HASWELL="default contiguous striped numa folded auto"
KNL="default contiguous striped folded auto"  # it has one domain: numa is contiguous

FLAGS=(-std=c++20 -O1 -ffunction-sections -I"$here" -I"$src" -I"$here/../include")
COMMON=("$here"/{machine,pattern}.cpp "$src"/model/sidecars.cpp "$src"/base/{text,value}.cpp
        "$src"/topology/{hand_over,location,mapping,place}.cpp)

build_both() {
  if [ -e "$BUILD/mapping" ] && [ -e "$BUILD/collective" ] &&
     [ -z "$(find "$here" "$src" -name '*.[ch]pp' -newer "$BUILD/mapping")" ]; then return; fi
  local objects=() object
  for source in "${COMMON[@]}"; do
    object=$BUILD/mapping-$(basename "$(dirname "$source")")-$(basename "$source").o
    timeout 300 "${CXX:-c++}" "${FLAGS[@]}" -c -o "$object" "$source"
    objects+=("$object")
  done
  for program in collective mapping; do
    timeout 300 "${CXX:-c++}" "${FLAGS[@]}" -Wl,--gc-sections -o "$BUILD/$program" \
      "$here/$program.cpp" "${objects[@]}" -lsimgrid -lfmt
  done
}

# Instants closer than this are one. Coarser where analysis ranks have nodes of their own: tens of
# thousands of messages are under way there, and what is compared differs by tens of per cent.
precision() {  # kind mapping
  case $1-$2 in
    *-default) echo 1e-5 ;;
    haswell-*) echo 1e-7 ;;
    *) echo 3e-6 ;;
  esac
}

one() {  # kind mapping [name=value]...
  local begin=$SECONDS
  timeout "$LIMIT" "$BUILD/mapping" "$@" --log=root.thresh:error \
    --cfg=surf/precision:"$(precision "$1" "$2")"
  echo "$*: $((SECONDS - begin)) s of this machine" >&2
}

file() { timeout "$LIMIT" "$BUILD/collective" "$@" --log=root.thresh:error; }

each() {  # kind "mappings" [name=value]...
  for mapping in $2; do one "$1" "$mapping" "${@:3}"; done
}

sizes() {
  for nodes in 24 48 96 128; do each haswell "$HASWELL" nodes=$nodes; done
  # As many atoms a core on each number of nodes, 51 million on 64.
  for nodes in 24 48 64 96 128; do each knl "$KNL" nodes=$nodes atoms=$((nodes * 796875)); done
}

# On few nodes where that changes nothing: what is looked at is in the node, or into one.
schedules() {
  for every in 2 5 10; do each haswell "default numa" nodes=24 every=$every; done
  each haswell "default numa" nodes=24 ahead=1
  each haswell "default numa" nodes=24 minimal=1
  each haswell "default numa" nodes=24 cost=8e-6
  for every in 1 2 5; do each knl "default folded" nodes=8 every=$every atoms=6375e3; done
  each knl "default folded" nodes=8 ahead=1 atoms=6375e3
}

inside() {
  for between in 30e9 16.8e9 8e9 4e9; do
    each haswell "contiguous striped numa folded" nodes=8 between=$between atoms=7e6
  done
  for mesh in 54e9 20e9 10e9 5e9 2.5e9; do
    each knl "contiguous striped folded" nodes=8 atoms=6375e3 mesh=$mesh
  done
}

# Contiguous ones are all on the last node.
files() {
  local aggregators mapping layout
  for layout in domains stripes; do
    for aggregators in 24 48; do file haswell contiguous $layout 128 $aggregators; done
    for aggregators in 24 48 96 192; do
      for mapping in default striped numa near; do
        file haswell $mapping $layout 128 $aggregators
      done
    done
  done
  for mapping in default striped folded near; do file knl $mapping domains 64 48; done
}

build_both
case ${1:-small} in
  small)
    { each haswell "$HASWELL" nodes=4 atoms=1e6; each knl "$KNL" nodes=4 atoms=1e6; } |
      tee "$OUT/mapping-small.jsonl"
    for mapping in default numa near; do file haswell $mapping domains 8 4; done |
      tee "$OUT/mapping-io-small.jsonl" ;;
  full)
    files | tee "$OUT/mapping-io.jsonl"
    sizes | tee "$OUT/mapping.jsonl"
    inside | tee "$OUT/mapping-inside.jsonl"
    schedules | tee "$OUT/mapping-schedule.jsonl" ;;
  one) shift; one "$@" ;;
  file) shift; file "$@" ;;
  *) echo "mapping.sh: $1 is none of small, full, one, file" >&2; exit 2 ;;
esac

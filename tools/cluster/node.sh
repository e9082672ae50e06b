#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts or ends one node of a cluster, for setup.sh and for tests of nodes that fail.
#   node.sh start DIR NAME        NAME is login, n0, n1, ...
#   node.sh kill DIR NAME         its power fails: no process of it ends in order
#   node.sh unplug DIR NAME       takes its network cable out; `plug` puts it in again
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 3 ] || {
  sed -n '3,6p' "$0" >&2
  exit 2
}
verb=$1 dir=$(cd "$2" && pwd) name=$3
switch=$(cat "$dir/run/switch.pid")
in_switch() { nsenter -t "$switch" -n "$@"; }

start() {
  . "$dir/run/cluster"
  . "$here/groups.sh"
  if [ -f "$dir/run/$name.pid" ] && [ -d "/proc/$(cat "$dir/run/$name.pid")" ]; then
    echo "node.sh: $name is up" >&2
    exit 1
  fi
  local pids=--pid outer inner='' group
  [ -z "$shared_pids" ] || pids=
  # The node's first process is born in its control groups, which its own namespace then takes for
  # the roots, as on a machine of its own.
  export cpu
  setsid bash -c '
    for group in $0; do
      mkdir -p "$group"
      [ ! -e "$group/cpuset.cpus" ] || for level in "$(dirname "$group")" "$group"; do
        cat /sys/fs/cgroup/cpuset/cpuset.cpus >"$level/cpuset.cpus"
        cat /sys/fs/cgroup/cpuset/cpuset.mems >"$level/cpuset.mems"
      done
      echo $$ >"$group/cgroup.procs"
    done
    exec taskset -c "$cpu" unshare --mount --uts --ipc --net --cgroup "${@:4}" --fork --kill-child bash "$1" "$2" "$3"
  ' "$(groups_of "$dir" "$name")" "$here/first_process.sh" "$dir" "$name" $pids \
    </dev/null >"$dir/log/$name.log" 2>&1 &
  outer=$!
  for ((i = 0; i < 300; i++)); do
    sleep 0.02
    [ "$(cat "/proc/$outer/comm" 2>/dev/null)" = unshare ] || continue
    inner=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null || true)
    inner=${inner%% *}
    [ -z "$inner" ] || [ "$(readlink "/proc/$inner/ns/net")" = "$(readlink /proc/self/ns/net)" ] || break
  done
  echo "$inner" >"$dir/run/$name.pid"
  # The port of a node that was killed disappears by itself, a moment later.
  in_switch ip link del "p-$name" 2>/dev/null || true
  ip link add "p-$name" netns "$switch" type veth peer name eth0 netns "$inner"
  in_switch ip link set "p-$name" master br0 up
  nsenter -t "$inner" -n ip address add "$(awk -v n="$name" '$2 == n {print $1}' "$dir/etc/hosts")/24" dev eth0
  nsenter -t "$inner" -n ip link set eth0 up
  for ((i = 0; i < 400; i++)); do
    [ ! -e "$dir/run/$name.up" ] || exit 0
    sleep 0.05
  done
  echo "node.sh: $name does not come up; see $dir/log/$name.log" >&2
  exit 1
}

case $verb in
  start) start ;;
  kill)
    kill -9 "$(cat "$dir/run/$name.pid")" 2>/dev/null || true
    rm -f "$dir/run/$name.pid" "$dir/run/$name.up"
    ;;
  unplug) in_switch ip link set "p-$name" down ;;
  plug) in_switch ip link set "p-$name" up ;;
  *)
    sed -n '3,6p' "$0" >&2
    exit 2
    ;;
esac

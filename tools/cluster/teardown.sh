#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ends the cluster that setup.sh brought up: kills the first process of each node by its number, with
# which the kernel ends all others of the node, and removes the control groups that remain.
#   teardown.sh [--dir DIR] [--purge]     --purge removes state, logs and home folders, too
here=$(cd "$(dirname "$0")" && pwd)
dir=${CLUSTER_DIR:-$(cd "$here/../.." && pwd)/build/cluster} purge=
while [ $# -gt 0 ]; do
  case $1 in
    --dir) dir=$2 && shift ;;
    --purge) purge=yes ;;
  esac
  shift
done
[ -d "$dir" ] || exit 0
dir=$(cd "$dir" && pwd)
shopt -s nullglob

# Whether a number is still a process of a cluster, and not one that the kernel gave the number again.
is_node() {
  [ -n "$1" ] && [ -d "/proc/$1" ] && [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
for file in "$dir"/run/*.pid; do
  pid=$(cat "$file")
  if is_node "$pid"; then
    # Without a process namespace of its own, all processes in its network namespace are the node's.
    net=$(readlink "/proc/$pid/ns/net")
    if [ "$(readlink "/proc/$pid/ns/pid")" = "$(readlink /proc/self/ns/pid)" ]; then
      for other in /proc/[0-9]*; do
        [ "$(readlink "$other/ns/net" 2>/dev/null)" != "$net" ] || kill -9 "${other#/proc/}" 2>/dev/null
      done
    fi
    kill -9 "$pid" 2>/dev/null
  fi
  rm -f "$file"
done
# Nodes whose number is lost: the command line of their first process names the folder.
for process in /proc/[0-9]*; do
  words=$({ tr '\0' ' ' <"$process/cmdline" | cut -d' ' -f1-3; } 2>/dev/null)
  [ "$words" != "bash $here/first_process.sh $dir" ] || kill -9 "${process#/proc/}" 2>/dev/null
done
rm -f "$dir"/run/*.up
. "$here/groups.sh"
for ((i = 0; i < 50; i++)); do
  left=$(find $(groups_of "$dir" /) -depth -type d 2>/dev/null)
  [ -n "$left" ] || break
  for folder in $left; do rmdir "$folder" 2>/dev/null; done
  sleep 0.1
done
[ -z "$purge" ] || rm -rf "$dir"
exit 0

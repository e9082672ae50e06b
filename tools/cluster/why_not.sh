#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints why a cluster cannot be brought up on this machine, and fails; or is silent.
if [ "$(id -u)" != 0 ]; then
  echo "only root can make the namespaces of nodes"
  exit 1
fi
missing=()
for program in slurmctld slurmd srun munged ip unshare nsenter setpriv; do
  command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "there is no ${missing[*]}; tools/install_deps.sh cluster installs all that it needs"
  exit 1
fi
if ! unshare --mount --uts --ipc --net --pid --cgroup --fork true 2>/dev/null; then
  echo "this machine does not allow namespaces"
  exit 1
fi
if ! unshare --net ip link add left type veth peer name right 2>/dev/null; then
  echo "this machine does not allow virtual networks"
  exit 1
fi
if [ ! -w /sys/fs/cgroup/memory ] && [ ! -w /sys/fs/cgroup/cgroup.subtree_control ]; then
  echo "control groups of this machine cannot be written"
  exit 1
fi

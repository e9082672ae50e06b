# SPDX-License-Identifier: BSD-3-Clause
# To be sourced. The control groups of a cluster: one below the root of each hierarchy, named after
# the cluster's folder. Slurm names its groups after nodes and jobs, which clusters share.

# groups_of DIR NODE: its group in each hierarchy, made or not; NODE / is the whole cluster's.
groups_of() {
  local name hierarchy
  name=pillion-$(printf %s "$1" | cksum | cut -d' ' -f1)
  for hierarchy in $(hierarchies); do echo "$hierarchy/$name/${2#/}"; done
}

# Version 1 has one hierarchy for each controller, version 2 one in all.
hierarchies() {
  if [ -d /sys/fs/cgroup/memory ]; then
    awk '$3 == "cgroup" {print $2}' /proc/mounts | sort -u
  else
    echo /sys/fs/cgroup
  fi
}

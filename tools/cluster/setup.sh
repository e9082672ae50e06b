#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Brings up a Slurm cluster of namespaces on this machine: a login node, which runs slurmctld, and
# compute nodes n0, n1, ... which run slurmd. README.md says what it is like. Needs root.
#   setup.sh [OPTION]...
#     --nodes N --cpus N --memory MB   what Slurm assumes: more CPUs than there are is fine (4, 4, 4000)
#     --shm SIZE                       size of /dev/shm on each node (2g)
#     --mpi-default NAME               MpiDefault of slurm.conf (none, Slurm's own default)
#     --hidepid                        mounts /proc with hidepid=2
#     --private-tmp                    each job has a /tmp and a /dev/shm of its own
#     --shared-pids                    one process namespace for all nodes; clusters have none
#     --real-cpus                      task/affinity, and as many CPUs as this machine has
#     --keep FOLDER                    a folder below /tmp, /root, /home or /run that nodes share
#     --dir DIR                        state, logs and home folders (build/cluster of this checkout)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
nodes=4 cpus=4 memory=4000 shm=2g mpi=none dir=${CLUSTER_DIR:-$top/build/cluster}
hidepid='' private='' shared_pids='' real=''
keep=("$top")
while [ $# -gt 0 ]; do
  case $1 in
    --nodes) nodes=$2 && shift ;;
    --cpus) cpus=$2 && shift ;;
    --memory) memory=$2 && shift ;;
    --shm) shm=$2 && shift ;;
    --mpi-default) mpi=$2 && shift ;;
    --dir) dir=$2 && shift ;;
    --keep) keep+=("$2") && shift ;;
    --hidepid) hidepid=yes ;;
    --private-tmp) private=yes ;;
    --shared-pids) shared_pids=yes ;;
    --real-cpus) real=yes ;;
    *)
      sed -n '3,16p' "$0" >&2
      exit 2
      ;;
  esac
  shift
done
reason=$("$here/why_not.sh") || {
  echo "setup.sh: $reason" >&2
  exit 1
}
[ -z "$real" ] || cpus=$(nproc)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
"$here/teardown.sh" --dir "$dir"
mkdir -p "$dir"/{etc/slurm,run,log,state/slurmctld,home}
rm -rf "${dir:?}"/{log,state}/*
mkdir -p "$dir/state/slurmctld"

# Accounts that only the nodes know. Nothing of 198.18.0.0/15, which is set aside for tests of
# networks, leaves the namespaces.
cp /etc/passwd /etc/group "$dir/etc"
for account in ana:2001 ben:2002; do
  name=${account%:*} number=${account#*:}
  echo "$name:x:$number:$number::/home/$name:/bin/bash" >>"$dir/etc/passwd"
  echo "$name:x:$number:" >>"$dir/etc/group"
  mkdir -p "$dir/home/$name"
  chown "$number:$number" "$dir/home/$name"
done
names=(login)
for ((n = 0; n < nodes; n++)); do names+=("n$n"); done
{
  echo "127.0.0.1 localhost"
  for ((n = 0; n <= nodes; n++)); do echo "198.18.0.$((n + 1)) ${names[n]}"; done
} >"$dir/etc/hosts"
[ -f "$dir/etc/munge.key" ] || (
  umask 077
  dd if=/dev/urandom of="$dir/etc/munge.key" bs=128 count=1 status=none
)

cat >"$dir/etc/slurm/cgroup.conf" <<END
CgroupMountpoint=/sys/fs/cgroup
CgroupPlugin=$([ -d /sys/fs/cgroup/memory ] && echo cgroup/v1 || echo cgroup/v2)
ConstrainRAMSpace=yes
ConstrainCores=no
AllowedSwapSpace=0
END
cat >"$dir/etc/slurm/slurm.conf" <<END
ClusterName=trial
SlurmctldHost=login
SlurmUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
CredType=cred/munge
MpiDefault=$mpi
StateSaveLocation=/srv/state/slurmctld
SlurmdSpoolDir=/srv/state/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/srv/log/slurmctld.log
SlurmdLogFile=/srv/log/slurmd-%n.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup${real:+,task/affinity}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=$((memory / cpus))
SlurmdParameters=config_overrides
SlurmctldTimeout=20
SlurmdTimeout=20
KillWait=10
MinJobAge=3600
ReturnToService=2
SchedulerParameters=sched_interval=2,bf_interval=2
JobRequeue=1
$([ -z "$private" ] || printf 'JobContainerType=job_container/tmpfs\nPrologFlags=Contain\n')
NodeName=n[0-$((nodes - 1))] CPUs=$cpus RealMemory=$memory
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
printf 'AutoBasePath=true\nBasePath=/run/jobs\n' >"$dir/etc/slurm/job_container.conf"

# Only the outermost of folders that are inside one another.
kept=()
while read -r path; do
  inside=
  for outer in ${kept[@]+"${kept[@]}"}; do
    case $path/ in "$outer"/*) inside=yes ;; esac
  done
  [ -n "$inside" ] || kept+=("$path")
done < <(printf '%s\n' "$dir" "${keep[@]}" | { grep -E '^/(tmp|root|home|run)/' || true; } | sort -u)
# Linux 6.18 numbers namespaces for each CPU apart, and refuses to keep the mounts of a job in those
# of a node with a higher number. So nodes are made on the CPU that has the lowest numbers.
keeps_namespaces() { # whether namespaces that all CPUs make can be kept in one that CPU $1 makes
  taskset -c "$1" unshare --mount bash -c '
    mount -t tmpfs tmpfs /mnt && touch /mnt/kept
    for cpu in $(seq 0 $(($(nproc --all) - 1))); do
      taskset -c "$cpu" unshare --mount sleep 5 & made=$!
      for ((i = 0; i < 100; i++)); do
        [ "$(readlink "/proc/$made/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] || break
        sleep 0.01
      done
      mount --bind "/proc/$made/ns/mnt" /mnt/kept 2>/dev/null || failed=yes
      kill "$made"
    done
    [ -z "$failed" ]'
}
cpu=0
if [ -n "$private" ]; then
  while ! keeps_namespaces "$cpu" && [ "$cpu" -lt $(($(nproc --all) - 1)) ]; do cpu=$((cpu + 1)); done
fi
cat >"$dir/run/cluster" <<END
cpu=$cpu all_cpus=0-$(($(nproc --all) - 1))
nodes=$nodes shm=$shm hidepid=$hidepid shared_pids=$shared_pids keep="${kept[*]-}"
END

# The switch between the nodes: a bridge in a network namespace of its own. So clusters with other
# folders do not meet, though their nodes and addresses are named alike.
setsid unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
switch=$!
echo $switch >"$dir/run/switch.pid"
for ((i = 0; i < 100; i++)); do
  [ "$(readlink "/proc/$switch/ns/net")" = "$(readlink /proc/self/ns/net)" ] || break
  sleep 0.02
done
nsenter -t $switch -n ip link add br0 type bridge
nsenter -t $switch -n ip link set br0 up

for name in "${names[@]}"; do "$here/node.sh" start "$dir" "$name"; done
up=
for ((i = 0; i < 300; i++)); do
  up=$(CLUSTER_DIR=$dir "$here/on" login sinfo -h -t idle -o %D 2>/dev/null || true)
  [ "$up" != "$nodes" ] || break
  sleep 0.1
done
CLUSTER_DIR=$dir "$here/on" login sinfo
[ "$up" = "$nodes" ] || {
  echo "setup.sh: not all nodes are up; see $dir/log" >&2
  exit 1
}

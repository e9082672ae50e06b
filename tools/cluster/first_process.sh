# SPDX-License-Identifier: BSD-3-Clause
# The first process of a node: gives it its name, its own /proc, /dev/shm, /tmp, /run, accounts and
# control groups, waits for its cable, and starts its daemons. It stays, to collect orphans.
#   bash first_process.sh DIR NAME
set -eu
dir=$1 name=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$dir/run/cluster"
. "$here/groups.sh"
taskset -pc "$all_cpus" $$ >/dev/null
hostname "$name"
mount -t proc ${hidepid:+-o hidepid=2} proc /proc
mount -t tmpfs -o "size=$shm,mode=1777" tmpfs /dev/shm

# The hierarchies as this control-group namespace has them: their roots are the node's groups.
if [ -d /sys/fs/cgroup/memory ]; then
  found=$(awk '$3 == "cgroup" {print $2 " " $4}' /proc/mounts)
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  echo "$found" | while read -r path options; do
    kind=$(printf %s "$options" | tr , '\n' | grep -vE '^(rw|ro|relatime|nosuid|nodev|noexec|xattr|release_agent=.*)$' | paste -sd, -)
    mkdir -p "$path"
    mount -t cgroup -o "$kind" cgroup "$path"
  done
else
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
fi

# /tmp, /root and /run are the node's own, but for the folders below them that all nodes share. Homes
# are the cluster's.
mount -t tmpfs tmpfs /mnt
for path in $keep; do
  mkdir -p "/mnt$path"
  mount --bind "$path" "/mnt$path"
done
mkdir -p /mnt/cluster
mount --bind "$dir" /mnt/cluster
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /root
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind /mnt/cluster/home /home
mount --bind /mnt/cluster /srv # where daemons find their state even if a job has a /tmp of its own
for path in $keep; do
  mkdir -p "$path"
  mount --bind "/mnt$path" "$path"
done
for file in passwd group hosts; do mount --bind "/srv/etc/$file" "/etc/$file"; done
mkdir -p /etc/slurm
mount --bind /srv/etc/slurm /etc/slurm
umount -l /mnt

mkdir -p /run/munge "/srv/state/$name"
ip link set lo up
for ((i = 0; i < 500; i++)); do
  ! ip -4 address show eth0 2>/dev/null | grep -q inet || break
  sleep 0.02
done
munged --force --key-file /srv/etc/munge.key --socket /run/munge/munge.socket.2 \
  --pid-file /run/munge/munged.pid --log-file "/srv/log/munged-$name.log" --seed-file /run/munge/seed
if [ "$name" = login ]; then slurmctld; else slurmd -N "$name"; fi
touch "/srv/run/$name.up"
trap : TERM INT HUP
while :; do
  sleep 3600 &
  wait $! || true
done

# SPDX-License-Identifier: BSD-3-Clause
# To be sourced: sets mpirun_options to what Open MPI needs to start more ranks than cores, as root
# too. Other MPI libraries need nothing of the kind.
mpirun_options=()
if mpirun --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE'; then
  mpirun_options=(--oversubscribe --bind-to none)
  [ "$(id -u)" != 0 ] || mpirun_options+=(--allow-run-as-root)
fi

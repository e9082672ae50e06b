// SPDX-License-Identifier: BSD-3-Clause
// The one way in which the adapter includes LAMMPS: its headers in the order in which they compile
// with every LAMMPS the adapter supports, and without their warnings.
#pragma once

#include <mpi.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#ifdef PILLION_LAMMPS_SYSTEM_FMT
#include "fmt_shim.hpp"
#endif
#include <lammps/lammps.h>
// The rest needs what the line above brings.
#include <lammps/atom.h>
#include <lammps/comm.h>
#include <lammps/domain.h>
#include <lammps/error.h>
#include <lammps/fix.h>
#include <lammps/force.h>
#include <lammps/group.h>
#include <lammps/input.h>
#include <lammps/modify.h>
#include <lammps/universe.h>
#include <lammps/update.h>
#include <lammps/utils.h>
#pragma GCC diagnostic pop

// SPDX-License-Identifier: BSD-3-Clause
// The one way in which the adapter includes LAMMPS: its headers in the order in which they compile
// with every LAMMPS the adapter supports, and without their warnings.
#pragma once

#include <mpi.h>

#ifdef PILLION_LAMMPS_SYSTEM_FMT
// LAMMPS headers of 2021 and 2022 format their messages with fmt::make_args_checked, which fmt 9
// dropped. Where LAMMPS was packaged against the system's newer fmt, as on Debian, this stands in
// for it; where LAMMPS ships a fmt of its own, nothing is needed and nothing is defined.
#include <fmt/format.h>

#if FMT_VERSION >= 90000
FMT_BEGIN_NAMESPACE
template <typename... Args, typename Format>
format_arg_store<format_context, remove_reference_t<Args>...> make_args_checked(
    const Format&, const remove_reference_t<Args>&... args) {
  return {args...};
}
FMT_END_NAMESPACE
#endif
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#include <lammps/lammps.h>
// The rest needs what the line above brings.
#include <lammps/atom.h>
#include <lammps/comm.h>
#include <lammps/compute.h>
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
#include <lammps/variable.h>
#pragma GCC diagnostic pop

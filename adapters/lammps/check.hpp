// SPDX-License-Identifier: BSD-3-Clause
// Turns a status of the C interface into an exception, so that the adapter's functions need not
// hand statuses on; the fix turns the exception into an error or a warning of LAMMPS.
#pragma once

#include <pillion/pillion.h>

#include <stdexcept>

namespace pillion::lammps {

inline void check(pillion_status status) {
  if (status != PILLION_OK) throw std::runtime_error(pillion_error_message());
}

}  // namespace pillion::lammps

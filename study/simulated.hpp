// SPDX-License-Identifier: BSD-3-Clause
// What the simulation has in place of memory: copies cost time and move nothing, and large arrays
// are addresses only. All ranks are threads of one process with common globals.
#pragma once

#include <cstddef>

namespace study {

/// Bytes/s at which a rank copies while all the cores of its node do.
inline constexpr double copy_rate = 1.8e9;

/// Lets the time pass that copying takes.
void spend_copying(size_t bytes);
/// Simulated seconds that this rank has copied since it last asked.
double seconds_copied();
/// Lets all ranks of the world go on at the same instant, which a barrier does not: besides being
/// fair, it lets the simulator begin all transfers in one go. Returns that instant. [collective]
double begin_together();

}  // namespace study

// SPDX-License-Identifier: BSD-3-Clause
// An interpreter of Python in this process: that of a simulation in Python, or one of our own,
// which is started when the first stage in Python is created, and never ended.
#pragma once

#include "python/bridge.hpp"

namespace pillion::python {

/// The bridge into the package `pillion`. Throws pillion::Error with what is missing and what to
/// do.
const Bridge& bridge();

}  // namespace pillion::python

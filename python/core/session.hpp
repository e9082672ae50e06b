// SPDX-License-Identifier: BSD-3-Clause
// One rank's session as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

namespace pillion::python {

void bind_session(nanobind::module_& module);

}  // namespace pillion::python

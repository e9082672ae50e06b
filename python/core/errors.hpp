// SPDX-License-Identifier: BSD-3-Clause
// The library's exception as Python's, for every module of the package.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <pillion/error.hpp>

namespace pillion::python {

/// For nanobind::register_exception_translator.
inline void translate(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    PyErr_SetString(nanobind::module_::import_("pillion.errors").attr("Error").ptr(), error.what());
  }
}

}  // namespace pillion::python

// SPDX-License-Identifier: BSD-3-Clause
// Element types as arrays of NumPy have them.
#pragma once

#include <nanobind/ndarray.h>
#include <pillion/types.h>

#include <cstdint>

namespace pillion::python {

inline nanobind::dlpack::dtype dtype_of(pillion_type type) {
  switch (type) {
    case PILLION_INT32: return nanobind::dtype<int32_t>();
    case PILLION_INT64: return nanobind::dtype<int64_t>();
    case PILLION_FLOAT32: return nanobind::dtype<float>();
    case PILLION_INT8: return nanobind::dtype<int8_t>();
    case PILLION_UINT8: return nanobind::dtype<uint8_t>();
    case PILLION_INT16: return nanobind::dtype<int16_t>();
    case PILLION_UINT16: return nanobind::dtype<uint16_t>();
    case PILLION_UINT32: return nanobind::dtype<uint32_t>();
    case PILLION_UINT64: return nanobind::dtype<uint64_t>();
    default: return nanobind::dtype<double>();
  }
}

}  // namespace pillion::python

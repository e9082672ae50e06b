// SPDX-License-Identifier: BSD-3-Clause
// Nodes of the configuration as Python's texts, lists and dicts.
#include <nanobind/stl/string.h>

#include "core/handles.hpp"

namespace nb = nanobind;

namespace pillion::python {

nb::object object_of(const pillion_stage_host& host, const pillion_value* value) {
  if (value == nullptr) return nb::none();
  switch (host.value_kind(value)) {
    case PILLION_VALUE_SCALAR: return nb::str(host.value_text(value));
    case PILLION_VALUE_LIST: {
      nb::list out;
      for (int64_t i = 0; i < host.value_size(value); ++i)
        out.append(object_of(host, host.value_at(value, i)));
      return out;
    }
    case PILLION_VALUE_MAP: {
      nb::dict out;
      for (int64_t i = 0; i < host.value_size(value); ++i)
        out[host.value_key(value, i)] = object_of(host, host.value_at(value, i));
      return out;
    }
    default: return nb::none();
  }
}

}  // namespace pillion::python

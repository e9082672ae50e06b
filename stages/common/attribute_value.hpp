// SPDX-License-Identifier: BSD-3-Clause
// What an attribute in a file may be, for sources that are compiled without the library HDF5, too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pillion::stages::hdf5 {

/// A type of its own: if libstdc++ knows that no alternative of a variant can throw when it is
/// moved, a copy that lacks memory is undefined.
struct Reals : std::vector<double> {
  Reals(std::vector<double> values) : vector(std::move(values)) {}
};

using AttributeValue = std::variant<int64_t, double, std::string, Reals, std::vector<int64_t>>;

}  // namespace pillion::stages::hdf5

// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files, opened for reading by every rank on its own. Without the library these functions say
// so (hdf5_absent.cpp).
#pragma once

#include <functional>
#include <optional>

#include "replay/distribute.hpp"
#include "replay/stored.hpp"

namespace replay {

/// What there is in a file.
struct Hdf5Content {
  std::vector<Stored> datasets;
  std::optional<int64_t> step;  ///< its attribute `step`
  std::optional<double> time;   ///< its attribute `time`
  int64_t coarsening = 1;  ///< its attribute `coarsening`: more if it has not all that there was
};

/// Looks at the datasets that are wanted by their path, "group/name". Throws pillion::Error if the
/// file cannot be read.
Hdf5Content look_into_hdf5(const std::string& path,
                           const std::function<bool(const std::string&)>& is_wanted);

/// Reads a part of a dataset as values of a field's type, one after the other.
void read_hdf5(const Stored& stored, const Part& part, pillion_type type, std::byte* to);

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// An array in a file, as the file describes it. Nothing of it has been read yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/number.hpp"

namespace replay {

struct Stored {
  std::string path;
  std::string dataset;           ///< where it is in an HDF5 file; "" in a .npy file
  std::optional<Number> number;  ///< nothing if it is of a type that cannot be read
  std::string type;              ///< as the file calls it, for messages
  bool swapped = false;          ///< bytes of a number are in the order of other machines
  bool fortran = false;          ///< the first index varies fastest
  std::vector<int64_t> shape;    ///< an extent for each index
  int64_t offset = 0;            ///< of the first value, in a .npy file

  /// The file, and where in it, for messages.
  [[nodiscard]] std::string place() const {
    return dataset.empty() ? "'" + path + "'" : "'" + path + "', dataset '" + dataset + "'";
  }
};

}  // namespace replay

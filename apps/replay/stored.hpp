// SPDX-License-Identifier: BSD-3-Clause
// An array in a file, as the file describes it. Nothing of it has been read yet.
#pragma once

#include <pillion/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/number.hpp"

namespace replay {

enum class Format : int32_t {
  Npy,
  Hdf5,
  Idx,  ///< a field of a dataset, at a step
  Raw   ///< blocks in files of many ranks, of which `path` is the index of a step
};

struct Stored {
  std::string path;
  std::string dataset;           ///< its name in the file; "" in a .npy file
  std::optional<Number> number;  ///< nothing if it is of a type that cannot be read
  std::string type;              ///< as the file calls it, for messages
  bool swapped = false;          ///< bytes of a number are in the order of other machines
  bool fortran = false;          ///< the first index varies fastest
  std::vector<int64_t> shape;    ///< an extent for each index
  int64_t offset = 0;            ///< of the first value, in a .npy file
  Format format = Format::Npy;
  int64_t step = 0;                        ///< in an IDX dataset
  int64_t column = 0;                      ///< of raw blocks, which of their fields it is
  std::optional<pillion_domain> domain{};  ///< of particles, if the file says it

  /// Whether the order of its indices is that of the format, [z, y, x], whatever the user says.
  [[nodiscard]] bool has_known_order() const {
    return format == Format::Idx || format == Format::Raw;
  }
  /// The file, and where in it, for messages.
  [[nodiscard]] std::string place() const {
    const char* what = has_known_order() ? "field" : "dataset";
    return "'" + path + "'" +
           (dataset.empty() ? "" : std::string(", ") + what + " '" + dataset + "'");
  }
};

/// What is looked for in a dataset of many steps.
struct Wanted {
  std::function<bool(const std::string& name)> field;
  std::function<bool(int64_t number)> step;
};

/// What a dataset of many steps has at one of them.
struct StoredStep {
  int64_t step = 0;
  std::optional<double> time;
  std::vector<Stored> fields;
  int64_t coarsening = 1;  ///< more if it has not all that there was
};

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// What a file of VTKHDF holds: attributes, and datasets whose rows are those of all peers, one peer
// behind the other. All peers name the same datasets, whether they have rows or not.
#pragma once

#include <pillion/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <pillion/stage/host.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../common/attribute_value.hpp"
#include "../../common/messages.hpp"

namespace pillion::stages::write_vtkhdf {

/// Gives bytes that lie one behind the other. It puts them into the memory, or returns bytes that
/// are somewhere already. They are good while it and the memory are unchanged.
using Source = std::function<ByteSpan(Bytes& memory)>;

/// Rows of a dataset that this peer has; or values, if the dataset is given in runs of values.
struct Piece {
  int64_t count = 0;
  Source source;
  int64_t first = -1;  ///< among all; -1: behind the pieces of this peer, and those of the peers
                       ///< before it
};

struct Dataset {
  std::string path;
  pillion_type element = PILLION_FLOAT64;
  std::vector<int64_t> row{};  ///< extents of a row; empty if it is one element
  std::vector<Piece> pieces{};
  int64_t total = -1;   ///< number of all rows, if pieces have `first`
  int64_t in_runs = 0;  ///< bytes of a value, if pieces are runs of values
  std::string units{};  ///< empty if it has none
  std::string role{};   ///< VTK's `Attribute`; empty if it has none

  [[nodiscard]] int64_t row_bytes() const {
    int64_t bytes = stage::size_of_element(element);
    for (const auto n : row) bytes *= n;
    return bytes;
  }
  [[nodiscard]] int64_t bytes_of_one() const { return in_runs > 0 ? in_runs : row_bytes(); }
};

struct Attribute {
  std::string group, name;
  hdf5::AttributeValue value;
};

/// A small dataset of texts, the same on all peers.
struct Texts {
  std::string path;
  std::vector<std::string> values;
};

/// A further name of a dataset.
struct Link {
  std::string path, target;
};

struct Content {
  std::vector<Attribute> attributes{};
  std::vector<Texts> texts{};
  std::vector<Dataset> datasets{};
  std::vector<Link> links{};
};

/// A list as a source.
template <class T>
Source listed(std::vector<T> values) {
  return [values = std::move(values)](Bytes&) { return std::as_bytes(std::span(values)); };
}

/// The first numbers, from 0.
inline Source counted(int64_t count) {
  return [count](Bytes& memory) {
    memory.resize(static_cast<size_t>(count) * sizeof(int64_t));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(memory.data() + static_cast<size_t>(i) * sizeof i, &i, sizeof i);
    return ByteSpan(memory);
  };
}

/// The same value again and again.
template <class T>
Source repeated(int64_t count, T value) {
  return [count, value](Bytes& memory) {
    memory.resize(static_cast<size_t>(count) * sizeof(T));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(memory.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
    return ByteSpan(memory);
  };
}

/// Memory that lives longer than the file is written.
template <class T>
Source lasting(const T* values, int64_t count) {
  return [bytes = std::as_bytes(std::span(values, static_cast<size_t>(count)))](Bytes&) {
    return bytes;
  };
}

}  // namespace pillion::stages::write_vtkhdf

// SPDX-License-Identifier: BSD-3-Clause
// The file of one step: arrays of compressed pieces, which all peers put there at once. One peer
// makes it with HDF5, as large as it will be; each writes its own bytes where they belong, without
// the library, so that a peer that fails leaves no other in a call of it.
#pragma once

#include <filesystem>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/hdf5.hpp"
#include "../common/messages.hpp"

namespace pillion::stages::encode {

struct Attribute {
  std::string name;
  hdf5::AttributeValue value;
};

/// A part of an array that this peer has, and the numbers that describe it.
struct StoredPiece {
  Bytes bytes;
  std::vector<int64_t> about;
};

/// A dataset of bytes, and, as NAME_pieces, a table with a row for each piece: its length in bytes
/// and what else it is. Pieces lie one after the other, by peer. Without such numbers there is no
/// table, and the dataset is one of 64-bit integers.
struct StoredArray {
  std::string name;
  std::vector<std::string> columns;  ///< names of the numbers about pieces
  std::vector<StoredPiece> pieces{};
  std::vector<Attribute> attributes{};  ///< the first peer's are written
};

/// Writes the file, whole or not at all, and returns its bytes. [peers]
int64_t write_compressed(const stage::Step& step, const std::vector<StoredArray>& arrays,
                         const std::vector<Attribute>& attributes,
                         const std::filesystem::path& path, bool durable);

}  // namespace pillion::stages::encode

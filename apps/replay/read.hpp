// SPDX-License-Identifier: BSD-3-Clause
// Reading a part of a stored array, by this rank alone.
#pragma once

#include <map>
#include <memory>

#include "replay/arrangement.hpp"
#include "replay/distribute.hpp"
#include "replay/idx.hpp"
#include "replay/raw.hpp"

namespace replay {

/// Reads from files of any format, and keeps what it has learned of datasets.
class FieldReader {
 public:
  /// Reads a part as values of a field's type, one after the other in the order of the file. Throws
  /// pillion::Error. Returns the bytes that it took from files.
  int64_t read(const Stored& stored, const Arrangement& arrangement, const Part& part,
               pillion_type type, std::byte* to);

 private:
  const pillion::idx::Reader& dataset(const std::string& path);

  std::map<std::string, std::unique_ptr<pillion::idx::Reader>> datasets_;
  RawBlocks raw_;
};

}  // namespace replay

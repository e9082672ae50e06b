// SPDX-License-Identifier: BSD-3-Clause
// Putting blocks of one query into an array.
#pragma once

#include <map>
#include <pillion/idx/reader.hpp>

#include "block_file.hpp"
#include "selection.hpp"

namespace pillion::idx {

/// The array `to` has `strides` in bytes. What this is made of must outlive it.
class Gathering {
 public:
  Gathering(const Dataset& dataset, const Query& query, const Grid& grid, std::byte* to,
            const Point& strides)
      : dataset_(dataset), query_(query), grid_(grid), to_(to), strides_(strides) {}

  /// Blocks of one file, which may not be there. Throws pillion::Error.
  void take(const BlockFile* file, std::span<const BlockOfLevel> blocks);
  /// That were read from files.
  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  void take(const BlockFile* file, const BlockOfLevel& block, const Entry& entry);
  const Order& hz_order(int level);

  const Dataset& dataset_;
  const Query& query_;
  const Grid& grid_;
  std::byte* to_;
  Point strides_;
  std::vector<std::byte> samples_;
  std::map<int, Order> orders_;  ///< by level
  int64_t bytes_ = 0;
};

}  // namespace pillion::idx

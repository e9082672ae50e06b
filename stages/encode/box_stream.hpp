// SPDX-License-Identifier: BSD-3-Clause
// Boxes of a uniform mesh as streams of a lossy code: zfp in its own header, SZ3 by its filter.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <pillion/stage.hpp>
#include <span>
#include <utility>
#include <vector>

namespace pillion::stages::encode {

// One component of a box of cells, and what a codec has made of it: its bytes, and how far off the
// values are that come out of them again.

struct Box {
  std::array<int64_t, 3> extent{1, 1, 1};  ///< first axis fastest
  int axes = 3;
};

/// A bound on the error of any cell, or on the root mean square over the box.
struct Limit {
  double bound;
  bool is_largest;
};

struct BoxStream {
  std::vector<std::byte> bytes{};
  double square = 0;   ///< of the error, summed over all cells
  double largest = 0;  ///< error of any cell
  bool is_exact = false;

  /// Compares the values with the decoded ones.
  template <class T>
  void measure(std::span<const T> values, std::span<const T> back) {
    is_exact = std::memcmp(back.data(), values.data(), values.size_bytes()) == 0;
    if (is_exact) return;
    for (size_t i = 0; i < back.size(); ++i) {
      if (back[i] == values[i]) continue;
      double off = std::fabs(static_cast<double>(back[i]) - static_cast<double>(values[i]));
      // A NaN on either side, is beyond any bound.
      if (std::isnan(off)) off = std::numeric_limits<double>::infinity();
      square += off * off;
      largest = std::max(largest, off);
    }
  }
  [[nodiscard]] bool is_within(const Limit& limit, size_t cells) const {
    if (limit.is_largest) return largest <= limit.bound;
    // Squares of numbers beyond these are 0 or infinite, and say nothing.
    return limit.bound > 1e-140 && limit.bound < 1e140 &&
           square <= limit.bound * limit.bound * static_cast<double>(cells);
  }
  /// In the norm of a limit.
  [[nodiscard]] double error(const Limit& limit, size_t cells) const {
    return limit.is_largest ? largest : std::sqrt(square / static_cast<double>(cells));
  }
};

/// What is stored of a box whose values take `raw` bytes. A stream that takes as many, exact or
/// not, gives way to the values: then this is empty, and nothing is lost.
inline BoxStream worth_storing(BoxStream stream, size_t raw) {
  return stream.bytes.size() < raw ? std::move(stream) : BoxStream{};
}

// One component of a box of cells, as a stream of SZ3 whose error is within a bound: what is
// compressed is decompressed and looked at. SZ3 is there as a filter of HDF5, a plug-in that the
// library loads when it is asked for.

/// Fails, at the place of that value in the configuration, if there is no filter, or one of another
/// version, whose numbers mean something else.
void require_sz3(const stage::Value& value);

/// Empty if the filter is not for such a box. It may take more bytes than the values.
template <class T>
BoxStream sz3_within(const Box& box, std::span<const T> values, const Limit& limit);

}  // namespace pillion::stages::encode

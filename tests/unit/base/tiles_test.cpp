// SPDX-License-Identifier: BSD-3-Clause
// Rows that become columns, whole tiles and parts of them, against loops over elements.

#include <doctest/doctest.h>

#include <vector>

#include "base/copy.hpp"

using pillion::base::copy_tiles;
using pillion::base::Loop;

namespace {

void check_transposed(int64_t rows, int64_t columns, int64_t bytes) {
  const int64_t gap = 3 * bytes;  // between rows, on both sides
  const int64_t from_row = columns * bytes + gap, to_row = rows * bytes + gap;
  std::vector<unsigned char> from(static_cast<size_t>(rows * from_row));
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 37 % 251);
  std::vector<unsigned char> to(static_cast<size_t>(columns * to_row), 255);
  auto expected = to;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t b = 0; b < bytes; ++b)
        expected[static_cast<size_t>(c * to_row + r * bytes + b)] =
            from[static_cast<size_t>(r * from_row + c * bytes + b)];
  REQUIRE(copy_tiles(reinterpret_cast<std::byte*>(to.data()),
                     reinterpret_cast<const std::byte*>(from.data()), Loop{rows, bytes, from_row},
                     Loop{columns, to_row, bytes}, static_cast<size_t>(bytes)));
  CHECK(to == expected);
}

}  // namespace

TEST_CASE("rows become columns, whatever lies between them") {
  for (const int64_t bytes : {1, 2, 4, 8, 12, 16, 24})
    for (const int64_t rows : {1, 3, 8, 16, 33})
      for (const int64_t columns : {1, 5, 8, 17, 32}) check_transposed(rows, columns, bytes);
}

TEST_CASE("other elements are left to others") {
  std::byte here{}, there{};
  CHECK_FALSE(copy_tiles(&here, &there, Loop{1, 7, 7}, Loop{1, 7, 7}, 7));
}

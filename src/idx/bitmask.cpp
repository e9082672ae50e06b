// SPDX-License-Identifier: BSD-3-Clause
// Bits dealt out and put together again.
#include <algorithm>
#include <bit>
#include <pillion/error.hpp>
#include <pillion/idx/bitmask.hpp>

namespace pillion::idx {
namespace {

constexpr int most_bits = 62;

int covering(int64_t count) {
  return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(count, 1) - 1));
}

/// Axes in turn, each as often as it has bits.
std::string in_turn(std::array<int, 3> bits) {
  std::string digits;
  while (std::any_of(bits.begin(), bits.end(), [](int n) { return n > 0; }))
    for (size_t a = 0; a < bits.size(); ++a)
      if (bits[a]-- > 0) digits += static_cast<char>('0' + a);
  return digits;
}

/// Readers want at least one bit, also where there is one sample.
Bitmask with_a_bit(const std::string& digits) {
  return Bitmask("V" + (digits.empty() ? "0" : digits));
}

}  // namespace

Bitmask::Bitmask(const std::string& text) : text_(text) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorCode::File, "'" + text + "' is not a bitmask: " + why);
  };
  if (text.empty() || text[0] != 'V') fail("it must begin with V");
  if (text.size() - 1 > most_bits) fail("it has more than 62 bits");
  for (const char digit : text.substr(1)) {
    if (digit < '0' || digit > '2') fail("its digits are axes, from 0 to 2");
    axes_.push_back(digit - '0');
    ++counts_[static_cast<size_t>(axes_.back())];
  }
}

Bitmask Bitmask::alternating(const Point& upper) {
  return with_a_bit(in_turn({covering(upper[0]), covering(upper[1]), covering(upper[2])}));
}

Bitmask Bitmask::of_boxes(const Point& upper, const std::array<int, 3>& sides) {
  std::array<int, 3> grid{};
  for (size_t a = 0; a < 3; ++a) {
    const int64_t side = int64_t{1} << sides[a];
    grid[a] = covering((upper[a] + side - 1) / side);
  }
  return with_a_bit(in_turn(grid) + in_turn(sides));
}

int64_t Bitmask::z_address(const Point& point) const {
  Point left = point;
  int64_t z = 0;
  for (int bit = 0; bit < bits(); ++bit) {
    auto& p = left[static_cast<size_t>(axis_of_bit(bit))];
    z |= (p & 1) << bit;
    p >>= 1;
  }
  return z;
}

Point Bitmask::of_z(int64_t z) const {
  Point out{};
  std::array<int, 3> at{};
  for (int bit = 0; bit < bits(); ++bit) {
    const auto a = static_cast<size_t>(axis_of_bit(bit));
    out[a] |= ((z >> bit) & 1) << at[a]++;
  }
  return out;
}

int64_t Bitmask::hz_of(int64_t z) const {
  const auto marked = static_cast<uint64_t>(z) | (uint64_t{1} << bits());
  return static_cast<int64_t>(marked >> (std::countr_zero(marked) + 1));
}

int64_t Bitmask::z_of(int64_t hz) const {
  auto marked = 2 * static_cast<uint64_t>(hz) + 1;
  marked <<= bits() + 1 - std::bit_width(marked);
  return static_cast<int64_t>(marked ^ (uint64_t{1} << bits()));
}

int Bitmask::level_of(int64_t address) { return std::bit_width(static_cast<uint64_t>(address)); }

Point Bitmask::stride(int level) const {
  Point out{1, 1, 1};
  for (size_t position = static_cast<size_t>(level); position < axes_.size(); ++position)
    out[static_cast<size_t>(axes_[position])] *= 2;
  return out;
}

}  // namespace pillion::idx

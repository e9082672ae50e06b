// SPDX-License-Identifier: BSD-3-Clause
// The tree of a bitmask, walked where a box is.
#include <algorithm>
#include <pillion/idx/runs.hpp>

namespace pillion::idx {
namespace {

struct Walk {
  const Bitmask& mask;
  const Point& lo;
  const Point& hi;
  std::vector<Cell>& found;

  /// The part of the box in a cell of the tree, which reaches from `corner` over `extent`.
  void visit(const Point& corner, Point extent, int bits) {
    bool whole = true;
    for (size_t a = 0; a < 3; ++a) {
      if (corner[a] >= hi[a] || corner[a] + extent[a] <= lo[a]) return;
      whole = whole && corner[a] >= lo[a] && corner[a] + extent[a] <= hi[a];
    }
    if (whole) {
      found.push_back({corner, bits});
      return;
    }
    const auto axis = static_cast<size_t>(mask.axis_of_bit(bits - 1));
    extent[axis] /= 2;
    visit(corner, extent, bits - 1);
    Point upper = corner;
    upper[axis] += extent[axis];
    visit(upper, extent, bits - 1);
  }
};

std::vector<int64_t> offsets_of_bits(const Bitmask& mask, int from, int to, Point weights) {
  for (int bit = 0; bit < from; ++bit) weights[static_cast<size_t>(mask.axis_of_bit(bit))] *= 2;
  std::vector<int64_t> out{0};
  for (int bit = from; bit < to; ++bit) {
    auto& weight = weights[static_cast<size_t>(mask.axis_of_bit(bit))];
    const size_t size = out.size();
    for (size_t i = 0; i < size; ++i) out.push_back(out[i] + weight);
    weight *= 2;
  }
  return out;
}

}  // namespace

std::vector<Cell> cells_of(const Bitmask& mask, const Point& lo, const Point& hi) {
  std::vector<Cell> found;
  const Point extent{mask.extent(0), mask.extent(1), mask.extent(2)};
  Walk{mask, lo, hi, found}.visit({0, 0, 0}, extent, mask.bits());
  return found;
}

std::vector<Cell> split(const Bitmask& mask, const Cell& cell, int bits) {
  std::vector<Cell> out;
  const int64_t first = mask.z_address(cell.corner);
  const int least = std::min(bits, cell.bits);
  for (int64_t n = 0; n < int64_t{1} << (cell.bits - least); ++n)
    out.push_back({mask.of_z(first + (n << least)), least});
  return out;
}

Run run_of(const Bitmask& mask, const Cell& cell, int number) {
  const int64_t cell_number = mask.z_address(cell.corner) >> cell.bits;
  if (number == 0) return {mask.hz_of(cell_number << cell.bits), 1};
  const int level = mask.bits() - cell.bits + number;
  const int64_t count = int64_t{1} << (number - 1);
  return {(int64_t{1} << (level - 1)) + cell_number * count, count};
}

std::vector<Run> runs_of(const Bitmask& mask, const Point& lo, const Point& hi) {
  std::vector<Run> all;
  for (const auto& cell : cells_of(mask, lo, hi))
    for (int number = 0; number <= cell.bits; ++number) all.push_back(run_of(mask, cell, number));
  std::sort(all.begin(), all.end(),
            [](const Run& a, const Run& b) { return a.address < b.address; });
  std::vector<Run> out;
  for (const auto& run : all) {
    const bool joins = !out.empty() && out.back().address + out.back().count == run.address &&
                       Bitmask::level_of(out.back().address) == Bitmask::level_of(run.address);
    if (joins) out.back().count += run.count;
    else out.push_back(run);
  }
  return out;
}

Offsets::Offsets(const Bitmask& mask, int bits, const Point& strides)
    : low_(offsets_of_bits(mask, 0, std::min(bits, low_bits), strides)),
      high_(offsets_of_bits(mask, std::min(bits, low_bits), bits, strides)) {}

}  // namespace pillion::idx

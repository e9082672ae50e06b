// SPDX-License-Identifier: BSD-3-Clause
// Putting the samples of a block into rows.
#include "zfp_codec.hpp"

#include <algorithm>
#include <cstring>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/runs.hpp>
#include <pillion/idx/zfp.hpp>

namespace pillion::stages {
namespace {

// Only the bits of the block's own grid tell its samples apart: they are a bitmask for themselves.
idx::Bitmask mask_within(const idx::Dataset& dataset, int64_t block) {
  const int bits = dataset.bits_per_block;
  const int last = block == 0 ? bits : idx::Bitmask::level_of(block << bits) - 1;
  return idx::Bitmask("V" + dataset.mask.text().substr(static_cast<size_t>(last - bits + 1),
                                                       static_cast<size_t>(bits)));
}

template <class Sample>
std::vector<std::byte> in_rows(const idx::Dataset& dataset, int64_t block, const idx::Grid& grid,
                               std::span<const std::byte> bytes) {
  const auto mask = mask_within(dataset, block);
  const idx::Offsets offsets(mask, mask.bits(),
                             {1, grid.extent[0], grid.extent[0] * grid.extent[1]});
  std::vector<std::byte> out(bytes.size());
  const auto* from = reinterpret_cast<const Sample*>(bytes.data());
  auto* to = reinterpret_cast<Sample*>(out.data());
  for (int64_t place = 0; place < grid.samples(); ++place)
    to[offsets[block == 0 ? mask.z_of(place) : place]] = from[place];
  return out;
}

/// Samples beyond the mesh become as the last ones within it: steps would cost bits.
template <class Sample>
void fill_beyond(const idx::Dataset& dataset, const idx::Grid& grid, std::vector<std::byte>& rows) {
  idx::Point last{};  // within the mesh
  for (size_t a = 0; a < 3; ++a)
    last[a] = std::min(grid.extent[a] - 1, (dataset.hi[a] - 1 - grid.origin[a]) / grid.stride[a]);
  auto* samples = reinterpret_cast<Sample*>(rows.data());
  const auto row = [&](int64_t j, int64_t k) {
    return samples + grid.extent[0] * (j + grid.extent[1] * k);
  };
  for (int64_t k = 0; k < grid.extent[2]; ++k)
    for (int64_t j = 0; j < grid.extent[1]; ++j) {
      const auto* from = row(std::min(j, last[1]), std::min(k, last[2]));
      auto* to = row(j, k);
      if (from != to) std::copy_n(from, last[0] + 1, to);
      std::fill(to + last[0] + 1, to + grid.extent[0], from[last[0]]);
    }
}

template <class Sample>
std::vector<std::byte> packed_in_rows(const idx::Dataset& dataset, const idx::Field& field,
                                      int64_t block, std::span<const std::byte> bytes) {
  const auto grid = idx::grid_of(dataset, block);
  auto rows = in_rows<Sample>(dataset, block, grid, bytes);
  fill_beyond<Sample>(dataset, grid, rows);
  return idx::zfp_encoded(dataset, field, block, rows);
}

}  // namespace

std::vector<std::byte> zfp_packed(const idx::Dataset& dataset, const idx::Field& field,
                                  int64_t block, std::span<const std::byte> bytes) {
  if (field.sample_size() == 4) return packed_in_rows<uint32_t>(dataset, field, block, bytes);
  return packed_in_rows<uint64_t>(dataset, field, block, bytes);
}

}  // namespace pillion::stages

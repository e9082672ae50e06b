// SPDX-License-Identifier: BSD-3-Clause
// Blocks and their places.
#include <algorithm>
#include <pillion/error.hpp>
#include <pillion/idx/blocks.hpp>

namespace pillion::idx {
namespace {

constexpr int64_t page = 4096;

}  // namespace

Point Grid::hi() const {
  Point out{};
  for (size_t a = 0; a < 3; ++a) out[a] = origin[a] + (extent[a] - 1) * stride[a] + 1;
  return out;
}

// A sample of level H has a one for its bit at position H, counted from the coarsest, and zeros
// after it; within a block the bits before that one vary.
Grid grid_of(const Dataset& dataset, int64_t block) {
  const auto& mask = dataset.mask;
  const int per_block = dataset.bits_per_block;
  const int64_t first = block << per_block;
  const int last = block == 0 ? per_block : Bitmask::level_of(first) - 1;  // position that varies
  Grid out{.origin = mask.point(first), .extent = {1, 1, 1}, .stride = {1, 1, 1}};
  for (int position = last - per_block + 1; position <= mask.bits(); ++position) {
    const auto axis = static_cast<size_t>(mask.axis_of_bit(mask.bits() - position));
    (position <= last ? out.extent : out.stride)[axis] *= 2;
  }
  return out;
}

bool is_present(const Dataset& dataset, int64_t block) {
  if (block > 0 && Bitmask::level_of(block << dataset.bits_per_block) > dataset.finest())
    return false;
  const Grid grid = grid_of(dataset, block);
  for (size_t a = 0; a < 3; ++a) {
    const int64_t below = std::max<int64_t>(0, dataset.lo[a] - grid.origin[a]);
    const int64_t k = (below + grid.stride[a] - 1) / grid.stride[a];
    if (k >= grid.extent[a] || grid.origin[a] + k * grid.stride[a] >= dataset.hi[a]) return false;
  }
  return true;
}

File::File(const Dataset& dataset, int64_t number) : first_(number * dataset.blocks_per_file) {
  const int64_t end = std::min(first_ + dataset.blocks_per_file, dataset.blocks());
  for (int64_t block = first_; block < end; ++block)
    if (is_present(dataset, block)) present_.push_back(block);
  const auto fields = static_cast<int64_t>(dataset.fields.size());
  int64_t at = (head_size(fields, dataset.blocks_per_file) + page - 1) / page * page;
  for (const auto& field : dataset.fields) {
    begins_.push_back(at);
    sizes_.push_back(dataset.block_samples() * static_cast<int64_t>(field.sample_size()));
    at += sizes_.back() * static_cast<int64_t>(present_.size());
  }
  begins_.push_back(at);
}

int64_t File::offset(size_t field, int64_t block) const {
  const auto at = std::lower_bound(present_.begin(), present_.end(), block);
  if (at == present_.end() || *at != block)
    throw Error(ErrorCode::Internal, "block " + std::to_string(block) + " is not in its file");
  return begins_[field] + sizes_[field] * (at - present_.begin());
}

std::vector<std::byte> head_of(std::span<const Entry> entries) {
  std::vector<std::byte> out(40 + 40 * entries.size());
  const auto put = [&](size_t at, uint64_t value) {
    for (size_t b = 0; b < 4; ++b) out[at + b] = static_cast<std::byte>(value >> (24 - 8 * b));
  };
  for (size_t e = 0; e < entries.size(); ++e) {
    const size_t at = 40 + 40 * e;
    put(at + 8, static_cast<uint64_t>(entries[e].offset) & 0xFFFFFFFF);
    put(at + 12, static_cast<uint64_t>(entries[e].offset) >> 32);
    put(at + 16, entries[e].size);
    put(at + 20, entries[e].flags);
  }
  return out;
}

std::vector<Entry> entries_of(std::span<const std::byte> head) {
  const auto get = [&](size_t at) {
    uint32_t value = 0;
    for (size_t b = 0; b < 4; ++b) value = value << 8 | static_cast<uint32_t>(head[at + b]);
    return value;
  };
  std::vector<Entry> out;
  for (size_t at = 40; at + 40 <= head.size(); at += 40)
    out.push_back({static_cast<int64_t>(static_cast<uint64_t>(get(at + 12)) << 32 | get(at + 8)),
                   get(at + 16), get(at + 20)});
  return out;
}

std::vector<Entry> raw_entries(const Dataset& dataset, const File& file) {
  std::vector<Entry> out(dataset.fields.size() * static_cast<size_t>(dataset.blocks_per_file));
  for (size_t f = 0; f < dataset.fields.size(); ++f)
    for (const int64_t block : file.present()) {
      const auto size = static_cast<uint32_t>(static_cast<size_t>(dataset.block_samples()) *
                                              dataset.fields[f].sample_size());
      const auto place =
          static_cast<int64_t>(f) * dataset.blocks_per_file + block - file.first_block();
      out[static_cast<size_t>(place)] = {file.offset(f, block), size, 0};
    }
  return out;
}

}  // namespace pillion::idx

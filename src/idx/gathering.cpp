// SPDX-License-Identifier: BSD-3-Clause
// One block after the other.
#include "gathering.hpp"

namespace pillion::idx {

void Gathering::take(const BlockFile* file, std::span<const BlockOfLevel> blocks) {
  std::vector<Entry> entries(blocks.size());
  if (file != nullptr) entries = file->entries(query_.field, blocks);
  for (size_t n = 0; n < blocks.size(); ++n) take(file, blocks[n], entries[n]);
}

void Gathering::take(const BlockFile* file, const BlockOfLevel& block, const Entry& entry) {
  const auto& field = dataset_.fields[query_.field];
  const Grid grid = grid_of(dataset_, block.number);
  if (is_absent(entry)) {
    samples_.assign(static_cast<size_t>(dataset_.block_samples()) * field.sample_size(),
                    static_cast<std::byte>(field.fill));
  } else {
    file->read(entry, query_.field, block.number, samples_);
    bytes_ += entry.size;
  }
  const bool is_in_rows = is_absent(entry) || entry.row_major();
  copy_common(grid, is_in_rows ? in_rows(grid.extent) : hz_order(block.level), samples_.data(),
              grid_, strides_, to_, field.sample_size());
}

const Order& Gathering::hz_order(int level) {
  const auto [at, is_new] = orders_.try_emplace(level);
  if (is_new) at->second = in_block(dataset_, level);
  return at->second;
}

}  // namespace pillion::idx

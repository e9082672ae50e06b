// SPDX-License-Identifier: BSD-3-Clause
// A channel outside of a segment, and messages of random size whose bytes follow from their number,
// so that a reader sees if they were overwritten while it read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "node/channel.hpp"

namespace pillion::node {

constexpr size_t channel_values = size_t{1} << 16;
constexpr size_t channel_heads = size_t{1} << 12;

/// Offsets count from the beginning of `values`. All bytes are 0 before prepare().
struct ChannelMemory {
  ChannelWords words;
  std::array<SlotWords, slot_count> slot_words;
  std::byte values[channel_values + channel_heads];

  void prepare() {
    words.values_size = channel_values;
    words.heads_offset = channel_values;
    words.heads_size = channel_heads;
    words.writer = this_process();
  }
  [[nodiscard]] SlotsOfChannel slots() {
    SlotsOfChannel all{};
    for (size_t s = 0; s < all.size(); ++s) all[s] = &slot_words[s];
    return all;
  }
  [[nodiscard]] ChannelWriter writer(bool primary_in_use) {
    return {words, slots(), primary_in_use};
  }
  [[nodiscard]] ChannelReader reader(int slot) {
    return {words, slot_words[static_cast<size_t>(slot)], slot};
  }
};

inline uint64_t word_of(int64_t message, size_t at) {
  return (static_cast<uint64_t>(message) + 1) * 0x9e3779b97f4a7c15u + at;
}

/// Writes message number `message` where `record` says.
inline void fill(ChannelMemory& memory, const Record& record, int64_t message) {
  for (size_t at = 0; at + 8 <= record.size; at += 8) {
    const uint64_t word = word_of(message, at);
    std::memcpy(memory.values + record.offset + at, &word, 8);
  }
}

inline bool is_whole(const ChannelMemory& memory, const Record& record, int64_t message) {
  bool whole = record.size >= 8 && record.offset + record.size <= sizeof memory.values;
  for (size_t at = 0; whole && at + 8 <= record.size; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, memory.values + record.offset + at, 8);
    whole = word == word_of(message, at);
  }
  return whole;
}

/// Publishes one message of random size, in memory for heads now and then; false if there is no
/// room for it.
inline bool publish_one(ChannelMemory& memory, ChannelWriter& writer, std::mt19937& random) {
  const bool is_head = random() % 8 == 0;
  const size_t size = is_head ? 64 : 8 + random() % (channel_values / 3);
  const auto offset = is_head ? writer.fits_head() ? writer.reserve_head(size) : std::nullopt
                      : writer.fits(size) ? writer.reserve(size)
                                          : std::nullopt;
  if (!offset) return false;
  const Record record{.offset = *offset, .size = size};
  fill(memory, record, writer.published());
  writer.publish(record);
  return true;
}

}  // namespace pillion::node

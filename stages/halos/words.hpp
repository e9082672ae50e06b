// SPDX-License-Identifier: BSD-3-Clause
// Messages between the ranks of a halo search: arrays of 8-byte words, in which lists of values
// follow each other.
#pragma once

#include <cstdint>
#include <cstring>
#include <pillion/stage.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pillion::stages {

using Words = std::vector<int64_t>;
using WordSpan = std::span<const int64_t>;

/// Adds values to the end of words; they must consist of whole words.
template <class R>
void pack(Words& words, const std::vector<R>& values) {
  static_assert(sizeof(R) % sizeof(int64_t) == 0 && std::is_trivially_copyable_v<R>);
  const size_t at = words.size(), count = values.size() * (sizeof(R) / sizeof(int64_t));
  words.resize(at + 1 + count);
  words[at] = static_cast<int64_t>(values.size());
  if (count != 0) std::memcpy(words.data() + at + 1, values.data(), count * sizeof(int64_t));
}

/// Reads values that were packed, and moves `at` behind them.
template <class R>
std::vector<R> unpack(WordSpan words, size_t& at) {
  std::vector<R> values(static_cast<size_t>(words[at++]));
  const size_t count = values.size() * (sizeof(R) / sizeof(int64_t));
  if (count != 0)
    std::memcpy(static_cast<void*>(values.data()), words.data() + at, count * sizeof(int64_t));
  at += count;
  return values;
}

/// A message begins where memory was allocated, so its words are aligned.
inline WordSpan words_of(const stage::Message& message) {
  return {reinterpret_cast<const int64_t*>(message.bytes.data()),
          message.bytes.size() / sizeof(int64_t)};
}

/// The same number of words from every peer, in their order, on all peers. [peers]
inline Words all_words(const stage::Step& step, const Words& mine) {
  Words out(mine.size() * static_cast<size_t>(step.peers()));
  std::copy(mine.begin(), mine.end(),
            out.begin() + static_cast<std::ptrdiff_t>(mine.size()) * step.peer());
  step.sum(std::span(out));
  return out;
}

/// Sends words to some peers, each with its number; calls use(words) with what came from each, in
/// ascending order of peers. [peers]
template <class Use>
void exchange_words(const stage::Step& step, const std::vector<std::pair<int, Words>>& out,
                    Use&& use) {
  std::vector<stage::Message> sent;
  for (const auto& [peer, words] : out) sent.push_back({peer, std::as_bytes(std::span(words))});
  for (const auto& message : step.exchange(sent)) use(words_of(message));
}

/// Calls use(words) at the first peer with the words of each peer, in their order. [peers]
template <class Use>
void gather_words(const stage::Step& step, const Words& mine, Use&& use) {
  for (const auto& message : step.gather(std::as_bytes(std::span(mine)))) use(words_of(message));
}

}  // namespace pillion::stages

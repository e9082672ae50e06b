// SPDX-License-Identifier: BSD-3-Clause
// The order of elements by their numbers, which may have gaps, over all peers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <pillion/error.hpp>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../../common/messages.hpp"

namespace pillion::stages::write_nek {

/// A number, and which one it is among those of the peer that sent it.
struct SentNumber {
  int64_t number = 0;
  int32_t peer = 0;
  size_t index = 0;
};

/// Where each number comes in the ascending order of those of all peers. Each peer sorts a range of
/// numbers, so that none has all of them. Throws if a number is there twice. [peers]
inline std::vector<int64_t> places_in_order(const stage::Step& step,
                                            const std::vector<int64_t>& mine) {
  // The largest one goes with the other sign, so that one reduction finds both.
  std::array<double, 2> ends;
  ends.fill(std::numeric_limits<double>::max());
  for (const int64_t number : mine) {
    ends[0] = std::min(ends[0], static_cast<double>(number));
    ends[1] = std::min(ends[1], -static_cast<double>(number));
  }
  step.min(std::span<double>(ends));
  const double width = (-ends[1] - ends[0] + 1) / step.peers();
  std::map<int32_t, std::vector<int64_t>> sent, replies;
  std::map<int32_t, std::vector<size_t>> indices;
  for (size_t e = 0; e < mine.size(); ++e) {
    const auto range = static_cast<int32_t>((static_cast<double>(mine[e]) - ends[0]) / width);
    const int32_t peer = std::min(range, step.peers() - 1);
    sent[peer].push_back(mine[e]);
    indices[peer].push_back(e);
  }
  std::vector<SentNumber> sorted;
  for (const auto& [peer, bytes] : step.exchange(messages_of(sent))) {
    std::vector<int64_t> numbers;
    append(numbers, bytes);
    replies[peer].resize(numbers.size());
    for (size_t n = 0; n < numbers.size(); ++n) sorted.push_back({numbers[n], peer, n});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.number == b.number; });
  if (twice != sorted.end())
    throw Error(ErrorCode::Stage, "two elements have the number " + std::to_string(twice->number));
  std::vector<int64_t> counts(static_cast<size_t>(step.peers()));
  counts[static_cast<size_t>(step.peer())] = static_cast<int64_t>(sorted.size());
  step.sum(std::span(counts));
  int64_t place = std::accumulate(counts.begin(), counts.begin() + step.peer(), int64_t{0});
  for (const auto& of : sorted) replies[of.peer][of.index] = place++;
  std::vector<int64_t> out(mine.size());
  for (const auto& [peer, bytes] : step.exchange(messages_of(replies))) {
    std::vector<int64_t> places;
    append(places, bytes);
    for (size_t n = 0; n < places.size(); ++n) out[indices.at(peer)[n]] = places[n];
  }
  return out;
}

}  // namespace pillion::stages::write_nek

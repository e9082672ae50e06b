// SPDX-License-Identifier: BSD-3-Clause
// Records of halos and of pairs in the order of their maxima, the highest first, over all ranks: no
// rank holds all of them. Records are dealt to the ranks by the id of their maximum, so that what
// ranks know of the same halo comes together, and each rank has a random part. A few samples of
// each part then divide the order into ranges of nearly the same length, one for a rank.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <pillion/stage.hpp>
#include <utility>
#include <vector>

#include "build.hpp"
#include "catalogue.hpp"
#include "query.hpp"
#include "tree.hpp"

namespace pillion::stages::halos {

/// Records of the same number of words, which begin with the maximum that they are of.
struct Records {
  size_t width = 0;
  Words words;

  [[nodiscard]] size_t size() const { return words.size() / width; }
  [[nodiscard]] const int64_t* at(size_t n) const { return words.data() + n * width; }
  [[nodiscard]] Vertex top(size_t n) const { return {std::bit_cast<double>(at(n)[0]), at(n)[1]}; }
  void add(const int64_t* record) { words.insert(words.end(), record, record + width); }
};

/// The highest first.
inline Records sorted(Records records) {
  std::vector<uint32_t> order(records.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  const auto is_higher = [&](size_t a, size_t b) { return records.top(b) < records.top(a); };
  if (std::is_sorted(order.begin(), order.end(), is_higher)) return records;
  std::sort(order.begin(), order.end(), is_higher);
  Records out{records.width, {}};
  out.words.reserve(records.words.size());
  for (const auto n : order) out.add(records.at(n));
  return out;
}

/// The rank that records of a maximum are dealt to: neighbours in the mesh are with others.
inline int dealt_to(int64_t id, int32_t peers) {
  auto hash = static_cast<uint64_t>(id) + 0x9E3779B97F4A7C15U;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
  return static_cast<int>((hash ^ (hash >> 31)) % static_cast<uint64_t>(peers));
}

/// Sends each record to the peer that `peer_of(top)` names; calls use(records) for what comes from
/// each, in ascending order of peers. [peers]
template <class PeerOf, class Use>
void send_records(const stage::Step& step, Records mine, PeerOf&& peer_of, Use&& use) {
  if (step.peers() == 1) return use(mine);
  const size_t width = mine.width;
  std::map<int, Words> of_peer;
  for (size_t n = 0; n < mine.size(); ++n) {
    auto& words = of_peer[peer_of(mine.top(n))];
    words.insert(words.end(), mine.at(n), mine.at(n) + width);
  }
  mine.words = {};
  const std::vector<std::pair<int, Words>> out(std::make_move_iterator(of_peer.begin()),
                                               std::make_move_iterator(of_peer.end()));
  exchange_words(step, out, [&](WordSpan words) {
    use(Records{width, Words(words.begin(), words.end())});
  });
}

/// The ranges that records are divided into, one for a peer, spread over the peers: up to
/// 16, or more if each has 16,384 records, since many peers would write a file in tiny parts.
inline int32_t usual_ranges(int64_t records, int32_t peers) {
  constexpr int64_t least_ranges = 16, records_of_range = 16384;
  const int64_t ranges = std::max(least_ranges, records / records_of_range);
  return static_cast<int32_t>(std::min<int64_t>(ranges, peers));
}

/// Where the ranges of the order begin, but for the first: of records that were dealt at random.
/// [peers]
class RangeStarts {
 public:
  /// `mine` are sorted.
  RangeStarts(const stage::Step& step, const Records& mine) : peers_(step.peers()) {
    // On many ranks no more than 64 bytes for each other rank: three samples and a number.
    const size_t samples = peers_ <= 64 ? 32 : 3;
    Words words{static_cast<int64_t>(mine.size())};
    for (size_t s = 0; s < samples; ++s) {
      const size_t n = (2 * s + 1) * mine.size() / (2 * samples);
      words.push_back(mine.size() == 0 ? 0 : mine.at(n)[0]);
      words.push_back(mine.size() == 0 ? -1 : mine.at(n)[1]);
    }
    const size_t width = words.size();
    const Words all = all_words(step, words);
    int64_t records = 0;
    std::vector<Vertex> sampled;
    for (size_t at = 0; at < all.size(); at += width) {
      records += all[at];
      for (size_t w = at + 1; w < at + width; w += 2)
        if (all[w + 1] >= 0) sampled.push_back({std::bit_cast<double>(all[w]), all[w + 1]});
    }
    std::sort(sampled.begin(), sampled.end(),
              [](const Vertex& a, const Vertex& b) { return b < a; });
    ranges_ = usual_ranges(records, peers_);
    for (int64_t r = 1; r < ranges_ && !sampled.empty(); ++r)
      starts_.push_back(
          sampled[static_cast<size_t>(r) * sampled.size() / static_cast<size_t>(ranges_)]);
  }
  /// The peer whose range has a maximum. That of the first peer is not empty if any is not.
  [[nodiscard]] int peer_of(const Vertex& top) const {
    const auto next = std::partition_point(starts_.begin(), starts_.end(),
                                           [&](const Vertex& start) { return top < start; });
    const int64_t range = next - starts_.begin();
    return static_cast<int>(range * peers_ / ranges_);
  }

 private:
  int32_t peers_, ranges_ = 1;
  std::vector<Vertex> starts_;
};

/// Adds what send_records() brings to one list.
struct Appending {
  Records& to;
  void operator()(const Records& records) const {
    to.words.insert(to.words.end(), records.words.begin(), records.words.end());
  }
};

/// Records that were dealt at random, in order: each peer has a range, behind those of the peers
/// before it. [peers]
inline Records in_order(const stage::Step& step, Records dealt) {
  Records mine = sorted(std::move(dealt));
  if (step.peers() == 1) return mine;
  const RangeStarts starts(step, mine);
  Records out{mine.width, {}};
  send_records(
      step, std::move(mine), [&](const Vertex& top) { return starts.peer_of(top); },
      Appending{out});
  return sorted(std::move(out));
}

inline Records records_of(const HaloShares& shares, size_t averages) {
  constexpr size_t words_of_share = sizeof(HaloShare) / sizeof(int64_t);
  static_assert(sizeof(HaloShare) % sizeof(int64_t) == 0);
  Records out{words_of_share + averages, {}};
  out.words.resize(shares.halos.size() * out.width);
  for (size_t h = 0; h < shares.halos.size(); ++h) {
    int64_t* to = out.words.data() + h * out.width;
    std::memcpy(to, &shares.halos[h], sizeof(HaloShare));
    if (averages > 0)
      std::memcpy(to + words_of_share, shares.sums.data() + h * averages,
                  averages * sizeof(double));
  }
  return out;
}

inline HaloShares shares_of(const Records& records, size_t averages) {
  HaloShares out;
  out.halos.resize(records.size());
  out.sums.resize(records.size() * averages);
  for (size_t h = 0; h < records.size(); ++h) {
    std::memcpy(static_cast<void*>(&out.halos[h]), records.at(h), sizeof(HaloShare));
    if (averages > 0)
      std::memcpy(out.sums.data() + h * averages, records.at(h) + records.width - averages,
                  averages * sizeof(double));
  }
  return out;
}

/// Whole halos of at least that many cells, from what ranks have of them: each peer a range of the
/// order. [peers]
inline HaloShares ordered_halos(const stage::Step& step, const HaloShares& mine, size_t averages,
                                int64_t least_cells) {
  std::vector<HaloShares> shares;
  send_records(
      step, records_of(mine, averages),
      [&](const Vertex& top) { return dealt_to(top.id, step.peers()); },
      [&](const Records& records) { shares.push_back(shares_of(records, averages)); });
  const auto whole = combined(shares, averages, least_cells);
  return shares_of(in_order(step, records_of(whole, averages)), averages);
}

/// The pairs of the whole tree, in the same order and divided in the same way. [peers]
inline std::vector<Pair> ordered_pairs(const stage::Step& step, const Tree& tree) {
  constexpr size_t width = sizeof(Pair) / sizeof(int64_t);
  Records mine{width, {}}, dealt{width, {}};
  {
    const auto own = pairs_of(tree);
    mine.words.resize(own.size() * width);
    if (!own.empty()) std::memcpy(mine.words.data(), own.data(), own.size() * sizeof(Pair));
  }
  send_records(
      step, std::move(mine), [&](const Vertex& top) { return dealt_to(top.id, step.peers()); },
      Appending{dealt});
  const Records records = in_order(step, std::move(dealt));
  std::vector<Pair> out(records.size());
  if (!out.empty())
    std::memcpy(static_cast<void*>(out.data()), records.words.data(), out.size() * sizeof(Pair));
  return out;
}

}  // namespace pillion::stages::halos

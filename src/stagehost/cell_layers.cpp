// SPDX-License-Identifier: BSD-3-Clause
// A point is at home on the rank that its key gives. Every rank that has cells at the point tells
// its home which ranks receive them, and the home tells the others. The cells at a point that a
// rank has are the next layer of that rank. Each fact goes over the network once.
#include "stagehost/cell_layers.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "model/geometry.hpp"
#include "stagehost/block_geometry.hpp"
#include "stagehost/peer_messages.hpp"

namespace pillion::stagehost {

using model::Array;

size_t PointKeyHash::operator()(const PointKey& key) const {
  uint64_t hash = 0;
  for (const int64_t part : key) {
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32U;
  }
  return hash;
}

namespace {

template <class T>
void put_places(const Array& points, std::vector<PointKey>& keys) {
  const auto* data = static_cast<const T*>(points.data);
  for (size_t p = 0; p < keys.size(); ++p)
    for (int32_t c = 0; c < points.components; ++c) {
      const auto at = static_cast<int64_t>(p) * points.strides[0] + points.component_at(c);
      // Adding 0 makes 0 of -0.
      keys[p][static_cast<size_t>(c)] = std::bit_cast<int64_t>(static_cast<double>(data[at]) + 0.0);
    }
}

}  // namespace

std::vector<PointKey> keys_of(const model::Block& block, const std::string& mesh, bool by_ids) {
  const auto& points = geometry_of(block, model::coordinates_of(mesh));
  std::vector<PointKey> keys(static_cast<size_t>(points.extents[0]));
  if (by_ids) {
    const auto& ids = geometry_of(block, model::point_ids_of(mesh));
    const auto* data = static_cast<const int64_t*>(ids.data);
    for (size_t p = 0; p < keys.size(); ++p)
      keys[p][0] = data[static_cast<int64_t>(p) * ids.strides[0]];
  } else if (points.type == model::ElementType::Float32) {
    put_places<float>(points, keys);
  } else {
    put_places<double>(points, keys);
  }
  return keys;
}

namespace {

/// A point, as two ranks number it between them, and a rank that has cells at it.
struct PointRank {
  int64_t point;
  int64_t rank;
};

/// Few ranks have cells at one point.
bool add(std::vector<int>& ranks, int rank) {
  if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) return false;
  ranks.push_back(rank);
  return true;
}

template <class Record>
Received exchange_records(const std::map<int, std::vector<Record>>& of_peers,
                          const ExecutionContext& context) {
  std::vector<pillion_message> messages;
  for (const auto& [peer, records] : of_peers)
    messages.push_back({peer, 0, records.size() * sizeof(Record), records.data()});
  return stagehost::exchange(messages, context);
}

/// Calls use(peer, record) for each record received.
template <class Record, class Use>
void each_record(const Received& received, Use&& use) {
  for (const auto& [peer, bytes] : received.bytes)
    for (size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      use(peer, record);
    }
}

/// The points that are at home on this rank.
class HomePoints {
 public:
  void add_user(int peer, const PointKey& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<int64_t>(users_.size()));
    if (is_new) {
      users_.emplace_back();
      ranks_.emplace_back();
    }
    auto& of_peer = points_of_[peer];
    users_[static_cast<size_t>(at->second)].emplace_back(peer,
                                                         static_cast<int64_t>(of_peer.size()));
    of_peer.push_back(at->second);
  }

  /// What `peer` knows is news to the other users.
  void tell(int peer, const PointRank& fact, std::map<int, std::vector<PointRank>>& news) {
    const auto point = static_cast<size_t>(points_of_[peer][static_cast<size_t>(fact.point)]);
    if (!add(ranks_[point], static_cast<int>(fact.rank))) return;
    for (const auto& [user, number] : users_[point])
      if (user != peer) news[user].push_back({number, fact.rank});
  }

 private:
  std::unordered_map<PointKey, int64_t, PointKeyHash> numbers_;
  std::vector<std::vector<std::pair<int, int64_t>>> users_;  ///< by point: who, and its number
  std::vector<std::vector<int>> ranks_;                      ///< by point: that have cells there
  std::map<int, std::vector<int64_t>> points_of_;            ///< by user and its number
};

/// The points and cells of this rank. Blocks that have a point have the same one.
class LocalCells {
 public:
  explicit LocalCells(std::span<const OwnedCells> blocks) {
    for (const auto& block : blocks)
      for (size_t c = 0; c < block.owners.size(); ++c) {
        points_of_.emplace_back();
        ranks_of_.emplace_back();
        if (block.owners[c] < 0) continue;
        const auto cell = points_of_.size() - 1;
        ranks_of_[cell].push_back(block.owners[c]);
        const auto& topology = block.topology;
        for (int64_t i = topology.offsets[c]; i < topology.offsets[c + 1]; ++i)
          add_point(cell,
                    block.points[static_cast<size_t>(topology.points[static_cast<size_t>(i)])]);
      }
  }

  /// Tells homes of all points, in the order in which this rank and they number them.
  [[nodiscard]] std::map<int, std::vector<PointKey>> number_points(int ranks) {
    std::map<int, std::vector<PointKey>> keys;
    homes_.resize(keys_.size());
    for (size_t p = 0; p < keys_.size(); ++p) {
      const int home = static_cast<int>(PointKeyHash{}(keys_[p]) % static_cast<size_t>(ranks));
      homes_[p] = {home, static_cast<int64_t>(keys[home].size())};
      keys[home].push_back(keys_[p]);
      points_at_[home].push_back(p);
    }
    return keys;
  }

  /// Points of cells that have gained a rank since the last call, by home.
  [[nodiscard]] std::map<int, std::vector<PointRank>> spread_to_points() {
    std::map<int, std::vector<PointRank>> facts;
    for (; spread_ < gained_.size(); ++spread_) {
      const auto [cell, rank] = gained_[spread_];
      for (const size_t point : points_of_[cell]) {
        if (!add(at_point_[point], rank)) continue;
        grown_.emplace_back(point, rank);
        facts[homes_[point].first].push_back({homes_[point].second, rank});
      }
    }
    return facts;
  }

  void take(int home, const PointRank& news) {
    const size_t point = points_at_[home][static_cast<size_t>(news.point)];
    const int rank = static_cast<int>(news.rank);
    if (add(at_point_[point], rank)) grown_.emplace_back(point, rank);
  }

  /// All cells at points that have gained a rank gain it, too.
  void spread_to_cells() {
    for (const auto& [point, rank] : grown_)
      for (const size_t cell : cells_at_[point])
        if (add(ranks_of_[cell], rank)) gained_.emplace_back(cell, rank);
    grown_.clear();
  }

  void begin() {
    for (size_t c = 0; c < ranks_of_.size(); ++c)
      if (!ranks_of_[c].empty()) gained_.emplace_back(c, ranks_of_[c].front());
  }

  [[nodiscard]] const std::vector<std::vector<int>>& ranks_of_cells() const { return ranks_of_; }

 private:
  void add_point(size_t cell, const PointKey& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, keys_.size());
    if (is_new) {
      keys_.push_back(key);
      at_point_.emplace_back();
      cells_at_.emplace_back();
    }
    points_of_[cell].push_back(at->second);
    cells_at_[at->second].push_back(cell);
  }

  std::unordered_map<PointKey, size_t, PointKeyHash> numbers_;
  std::vector<PointKey> keys_;                    ///< by point
  std::vector<std::pair<int, int64_t>> homes_;    ///< by point: the rank, and its number there
  std::map<int, std::vector<size_t>> points_at_;  ///< by home and number
  std::vector<std::vector<int>> at_point_;        ///< by point: ranks that have cells there
  std::vector<std::vector<size_t>> cells_at_;     ///< by point
  std::vector<std::vector<size_t>> points_of_;    ///< by cell
  std::vector<std::vector<int>> ranks_of_;        ///< by cell: the owner, and then others
  std::vector<std::pair<size_t, int>> gained_;    ///< cells and ranks, in the order of layers
  std::vector<std::pair<size_t, int>> grown_;     ///< points and ranks, of this layer
  size_t spread_ = 0;                             ///< how many of gained_ points know
};

}  // namespace

std::vector<std::vector<std::vector<int>>> ranks_near(std::span<const OwnedCells> blocks,
                                                      int64_t layers,
                                                      const ExecutionContext& context) {
  LocalCells cells(blocks);
  HomePoints home;
  const auto users = exchange_records(cells.number_points(context.peers->size()), context);
  each_record<PointKey>(users, [&](int peer, const PointKey& key) { home.add_user(peer, key); });
  cells.begin();
  for (int64_t layer = 0; layer < layers; ++layer) {
    const auto facts = exchange_records(cells.spread_to_points(), context);
    std::map<int, std::vector<PointRank>> news;
    each_record<PointRank>(facts,
                           [&](int peer, const PointRank& fact) { home.tell(peer, fact, news); });
    each_record<PointRank>(exchange_records(news, context),
                           [&](int from, const PointRank& fact) { cells.take(from, fact); });
    cells.spread_to_cells();
  }
  std::vector<std::vector<std::vector<int>>> out;
  size_t cell = 0;
  for (const auto& block : blocks) {
    auto& of_block = out.emplace_back(block.owners.size());
    for (auto& ranks : of_block) {
      ranks = cells.ranks_of_cells()[cell++];
      if (!ranks.empty()) ranks.erase(ranks.begin());  // the owner
    }
  }
  return out;
}

}  // namespace pillion::stagehost

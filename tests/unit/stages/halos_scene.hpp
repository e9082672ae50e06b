// SPDX-License-Identifier: BSD-3-Clause
// For tests of halos: fields, meshes cut into boxes at random, the search on those boxes as ranks
// would do it but without any, and the definition of a halo done by flooding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "halos/catalogue.hpp"
#include "halos/query.hpp"
#include "halos/tree.hpp"

namespace halos_scene {

using namespace pillion::stages;
using namespace pillion::stages::halos;
using Random = std::mt19937_64;

struct Field {
  Grid grid;
  std::vector<double> values;
};

struct Found {
  int64_t id = 0, cells = 0, wraps = 0;
  double peak = 0, sum = 0;
  Cell places{};
};

inline void cut(const Cell& lo, const Cell& hi, int parts, Random& random,
                std::vector<Piece>& out) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < 3; ++d)
    if (hi[d] - lo[d] > 1) axes.push_back(d);
  if (parts == 1 || axes.empty()) {
    out.push_back({{}, {}, lo, hi});
    return;
  }
  const size_t d = axes[random() % axes.size()];
  Cell middle_hi = hi, middle_lo = lo;
  middle_hi[d] = middle_lo[d] =
      lo[d] + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(hi[d] - lo[d] - 1));
  cut(lo, middle_hi, parts / 2, random, out);
  cut(middle_lo, hi, parts - parts / 2, random, out);
}

/// What one rank has, and what it goes through.
struct Rank {
  Rank(const Field& field, const Piece& box) : piece(box) {
    for (size_t d = 0; d < 3; ++d) {
      const bool wraps = field.grid.periodic[d];
      piece.lo[d] = wraps ? box.inner_lo[d] - 1 : std::max<int64_t>(box.inner_lo[d] - 1, 0);
      piece.hi[d] =
          wraps ? box.inner_hi[d] + 1 : std::min(box.inner_hi[d] + 1, field.grid.cells[d]);
    }
    for (int64_t z = piece.lo[2]; z < piece.hi[2]; ++z)
      for (int64_t y = piece.lo[1]; y < piece.hi[1]; ++y)
        for (int64_t x = piece.lo[0]; x < piece.hi[0]; ++x)
          values.push_back(field.values[static_cast<size_t>(field.grid.id({x, y, z}))]);
  }
  Piece piece;
  std::vector<double> values;
  std::vector<Decided> decided;
  std::vector<Wrap> wraps;
  Tree tree;
};

/// Ranks whose parts are merged, and what is not decided among them.
struct Region {
  std::vector<Rank*> ranks;
  PartialTree part;
};

/// Merges regions in any order, as long as all come together in the end.
inline void merge_all(std::vector<Region> regions, Random& random) {
  while (regions.size() > 1) {
    std::shuffle(regions.begin(), regions.end(), random);
    const auto a = std::move(regions.back());
    regions.pop_back();
    auto& b = regions.back();
    auto merged = merge(a.part, b.part, regions.size() == 1);
    b.ranks.insert(b.ranks.end(), a.ranks.begin(), a.ranks.end());
    b.part = std::move(merged.part);
    for (auto* rank : b.ranks) {
      rank->decided.insert(rank->decided.end(), merged.decided.begin(), merged.decided.end());
      rank->wraps.insert(rank->wraps.end(), merged.wraps.begin(), merged.wraps.end());
    }
  }
}

/// The tree on each of the boxes that a mesh is cut into.
inline std::vector<Rank> search(const Field& field, int boxes, Random& random) {
  std::vector<Piece> pieces;
  cut({0, 0, 0}, field.grid.cells, boxes, random, pieces);
  std::vector<Rank> ranks;
  std::vector<TreeBuilder> builders;
  for (const auto& piece : pieces) ranks.emplace_back(field, piece);
  for (const auto& rank : ranks)
    builders.emplace_back(field.grid, rank.piece,
                          find_basins(field.grid, rank.piece, rank.values.data()));
  std::vector<std::vector<Vertex>> asked(ranks.size());
  for (const auto& builder : builders)
    for (const auto& cell : builder.asks())
      for (size_t r = 0; r < ranks.size(); ++r)
        if (ranks[r].piece.owns(field.grid.cell(cell.id))) asked[r].push_back(cell);
  std::vector<Region> regions;
  for (size_t r = 0; r < ranks.size(); ++r)
    regions.push_back({{&ranks[r]}, builders[r].part(asked[r])});
  merge_all(std::move(regions), random);
  for (size_t r = 0; r < ranks.size(); ++r)
    ranks[r].tree = std::move(builders[r]).tree(ranks[r].decided, ranks[r].wraps);
  return ranks;
}

inline std::vector<Found> query(const Field& field, const std::vector<Rank>& ranks, double boundary,
                                double peak, bool with_census = false) {
  std::vector<HaloShares> shares;
  for (const auto& rank : ranks) {
    Query<double> query(field.grid, rank.piece, rank.values.data(), rank.tree);
    if (with_census) query.prepare(boundary - 1);
    shares.push_back(query.halos(boundary, peak));
  }
  std::vector<Found> out;
  for (const auto& halo : combined(shares, 0, 1).halos)
    out.push_back({halo.top.id, halo.sums.cells, halo.wraps, halo.top.value, halo.sums.sum,
                   halo.sums.places});
  return out;
}

/// The definition: components flooded from their maxima, each cell seen where the flood meets it
/// first; if it meets it again elsewhere, the component wraps round.
inline std::vector<Found> flood(const Field& field, double boundary, double peak) {
  const auto& grid = field.grid;
  std::vector<int64_t> order;
  for (int64_t c = 0; c < grid.count(); ++c)
    if (field.values[static_cast<size_t>(c)] >= boundary) order.push_back(c);
  const auto value = [&](int64_t c) { return field.values[static_cast<size_t>(c)]; };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return value(a) > value(b) || (value(a) == value(b) && a > b);
  });
  std::map<int64_t, Cell> seen;
  std::vector<Found> out;
  for (const int64_t top : order) {
    if (seen.contains(top)) continue;
    Found halo{top, 0, 0, value(top), 0, {}};
    std::deque<int64_t> next = {top};
    seen[top] = grid.cell(top);
    while (!next.empty()) {
      const int64_t cell = next.front();
      next.pop_front();
      const Cell at = seen[cell];
      ++halo.cells;
      halo.sum += value(cell);
      for (size_t d = 0; d < 3; ++d) halo.places[d] += at[d];
      for (const auto& step : steps) {
        Cell other = {at[0] + step[0], at[1] + step[1], at[2] + step[2]};
        bool is_outside = false;
        for (size_t d = 0; d < 3; ++d)
          if (grid.cells[d] == 1 && grid.periodic[d]) other[d] = 0;
        for (size_t d = 0; d < 3; ++d)
          is_outside =
              is_outside || (!grid.periodic[d] && (other[d] < 0 || other[d] >= grid.cells[d]));
        if (is_outside || !(value(grid.id(other)) >= boundary)) continue;
        const auto [found, is_new] = seen.try_emplace(grid.id(other), other);
        if (is_new) next.push_back(found->first);
        for (size_t d = 0; d < 3; ++d)
          if (found->second[d] != other[d]) halo.wraps |= 1 << d;
      }
    }
    if (halo.peak >= peak) out.push_back(halo);
  }
  return out;
}

}  // namespace halos_scene

// SPDX-License-Identifier: BSD-3-Clause
// Halos put together from the shares that ranks have of them, and the tables of them: catalogue,
// mass function and merge tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "query.hpp"
#include "tree.hpp"

namespace pillion::stages::halos {

// Halos from the shares that ranks have of them, in an order that does not depend on who had what;
// where they are and what they weigh; and their number by mass.

/// Adds up shares of the same halo. Halos come out with the highest maximum first; those of fewer
/// than `least` cells are left out. `width` is the number of summands.
inline HaloShares combined(const std::vector<HaloShares>& of_ranks, size_t width, int64_t least) {
  struct Key {
    Vertex top;
    uint32_t rank, number;
  };
  std::vector<Key> keys;
  for (uint32_t r = 0; r < of_ranks.size(); ++r)
    for (uint32_t h = 0; h < of_ranks[r].halos.size(); ++h)
      keys.push_back({of_ranks[r].halos[h].top, r, h});
  // Sums are taken in the order of ranks.
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return b.top < a.top || (a.top.id == b.top.id && a.rank < b.rank);
  });
  HaloShares out;
  for (size_t i = 0; i < keys.size();) {
    HaloShare halo = {keys[i].top, 0, {}};
    std::vector<double> sums(width);
    for (; i < keys.size() && keys[i].top.id == halo.top.id; ++i) {
      const HaloShares& from = of_ranks[keys[i].rank];
      const HaloShare& share = from.halos[keys[i].number];
      halo.wraps |= share.wraps;
      halo.sums.cells += share.sums.cells;
      halo.sums.sum += share.sums.sum;
      for (size_t d = 0; d < 3; ++d) halo.sums.places[d] += share.sums.places[d];
      for (size_t s = 0; s < width; ++s) sums[s] += from.sums[keys[i].number * width + s];
    }
    if (halo.sums.cells < least) continue;
    out.halos.push_back(halo);
    out.sums.insert(out.sums.end(), sums.begin(), sums.end());
  }
  return out;
}

/// The mean place of a halo's cells along an axis, in cells from the centre of the mesh's first,
/// brought back into the mesh if the axis is periodic; NaN if the halo wraps round along it.
inline double centroid(const HaloShare& halo, const Grid& grid, size_t axis) {
  if ((halo.wraps >> axis & 1) != 0) return std::numeric_limits<double>::quiet_NaN();
  const int64_t cells = halo.sums.cells, whole = grid.cells[axis];
  // The first cell begins half a cell before its centre, and so does the mesh.
  int64_t twice = 2 * halo.sums.places[axis] + cells;
  if (grid.periodic[axis]) {
    const int64_t range = 2 * cells * whole;
    twice = (twice % range + range) % range;
  }
  return static_cast<double>(twice) / static_cast<double>(2 * cells) - 0.5;
}

/// How many masses fall in bins of equal ratio; of a bin [lower, upper), the last one closed.
struct MassFunction {
  std::vector<double> edges;
  std::vector<int64_t> counts;
  int64_t below = 0, above = 0;

  MassFunction(double lowest, double highest, int64_t bins) : counts(static_cast<size_t>(bins)) {
    const double ratio = highest / lowest;
    for (int64_t b = 0; b <= bins; ++b)
      edges.push_back(lowest * std::pow(ratio, static_cast<double>(b) / static_cast<double>(bins)));
    edges.back() = highest;
  }
  void add(double mass) {
    if (!(mass >= edges.front())) ++below;
    else if (mass > edges.back()) ++above;
    else {
      const auto next = std::upper_bound(edges.begin() + 1, edges.end() - 1, mass);
      ++counts[static_cast<size_t>(next - edges.begin()) - 1];
    }
  }
  /// Halos per volume and decade of mass.
  [[nodiscard]] std::vector<double> density(double volume) const {
    std::vector<double> out;
    for (size_t b = 0; b < counts.size(); ++b)
      out.push_back(static_cast<double>(counts[b]) /
                    (volume * std::log10(edges[b + 1] / edges[b])));
    return out;
  }
};

/// The least and greatest of those masses that are above 0; [infinity, 0] if none is.
inline std::pair<double, double> extremes_of(const std::vector<double>& masses) {
  double lowest = std::numeric_limits<double>::infinity(), highest = 0;
  for (const double mass : masses)
    if (mass > 0 && std::isfinite(mass)) {
      lowest = std::min(lowest, mass);
      highest = std::max(highest, mass);
    }
  return {lowest, highest};
}

/// A range of masses that holds their extremes, with a width even if they are equal or none.
inline std::pair<double, double> range_of(const std::pair<double, double>& extremes) {
  const auto [lowest, highest] = extremes;
  if (highest == 0) return {1, 10};
  if (highest <= lowest * (1 + 1e-9)) return {lowest / 2, lowest * 2};
  return {lowest, highest};
}

// Tables of halos: from cells to the mesh's units of length, also of a coarse publication, whose
// cells are every n-th of the mesh's; ids are always those of cells of the whole mesh.

/// Finite values of the field.
struct Total {
  int64_t finite = 0;
  double mean = 0;
};

/// The mesh in cells as they are in a publication, and how these lie in space.
class MeshScale {
 public:
  MeshScale(const pillion_field_description& field, int64_t factor)
      : axes_(field.axes), factor_(factor) {
    for (size_t d = 0; d < static_cast<size_t>(axes_); ++d) {
      const int64_t cells = field.cells[d];
      fine_[d] = cells;
      grid_.cells[d] = (cells + factor - 1) / factor;
      grid_.periodic[d] = field.periodic[d] != 0 && cells % factor == 0;
      origin_[d] = field.origin[d];
      width_[d] = field.length[d] / static_cast<double>(cells);
      volume_ *= field.length[d];
      cell_volume_ *= width_[d] * static_cast<double>(factor);
    }
  }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] size_t axes() const { return static_cast<size_t>(axes_); }
  [[nodiscard]] int64_t factor() const { return factor_; }
  /// One cell is there of this number.
  [[nodiscard]] int64_t all_axes() const {
    int64_t out = 1;
    for (size_t d = 0; d < axes(); ++d) out *= factor_;
    return out;
  }
  [[nodiscard]] double volume() const { return volume_; }
  [[nodiscard]] double cell_volume() const { return cell_volume_; }
  /// Of a place that is given in cells from the centre of the first one.
  [[nodiscard]] double coordinate(double place, size_t axis) const {
    return origin_[axis] + (place * static_cast<double>(factor_) + 0.5) * width_[axis];
  }
  [[nodiscard]] int64_t id(int64_t coarse) const {
    if (factor_ == 1 || coarse < 0) return coarse;
    const Cell at = grid_.cell(coarse);
    return factor_ * (at[0] + fine_[0] * (at[1] + fine_[1] * at[2]));
  }

 private:
  int32_t axes_;
  int64_t factor_;
  Grid grid_;
  Cell fine_{1, 1, 1};
  double origin_[3] = {}, width_[3] = {};
  double volume_ = 1, cell_volume_ = 1;
};

/// The columns of a catalogue.
class Columns {
 public:
  Columns(const MeshScale& scale, const HaloShares& halos, size_t averages)
      : halos_(halos), scale_(scale), width_(averages) {
    for (const auto& halo : halos.halos) mass.push_back(scale.cell_volume() * halo.sums.sum);
  }
  std::vector<double> mass;

  void add_to(stage::Table& table, const std::string& units, const std::string& length,
              const std::string& mass_units) const {
    table.column("id", "", integers([&](const HaloShare& h) { return scale_.id(h.top.id); }));
    table.column("peak", units, reals([](const HaloShare& h) { return h.top.value; }));
    for (size_t d = 0; d < scale_.axes(); ++d)
      table.column(std::string("peak_") + "xyz"[d], length, reals([&](const HaloShare& h) {
                     const auto place = scale_.grid().cell(h.top.id)[d];
                     return scale_.coordinate(static_cast<double>(place), d);
                   }));
    for (size_t d = 0; d < scale_.axes(); ++d)
      table.column(std::string(1, "xyz"[d]), length, reals([&](const HaloShare& h) {
                     return scale_.coordinate(centroid(h, scale_.grid(), d), d);
                   }));
    table.column("mass", mass_units, mass);
    table.column("cells", "", integers([](const HaloShare& h) { return h.sums.cells; }));
    table.column("wraps", "", integers([](const HaloShare& h) { return h.wraps; }));
  }
  /// Of summand s: per cell, or per mass.
  [[nodiscard]] std::vector<double> average(size_t s, bool is_weighted) const {
    std::vector<double> out;
    for (size_t h = 0; h < halos_.halos.size(); ++h) {
      const Sums& sums = halos_.halos[h].sums;
      out.push_back(halos_.sums[h * width_ + s] /
                    (is_weighted ? sums.sum : static_cast<double>(sums.cells)));
    }
    return out;
  }

 private:
  template <class F>
  [[nodiscard]] std::vector<double> reals(F&& of) const {
    std::vector<double> out;
    for (const auto& halo : halos_.halos) out.push_back(of(halo));
    return out;
  }
  template <class F>
  [[nodiscard]] std::vector<int64_t> integers(F&& of) const {
    std::vector<int64_t> out;
    for (const auto& halo : halos_.halos) out.push_back(of(halo));
    return out;
  }

  const HaloShares& halos_;
  const MeshScale& scale_;
  size_t width_;
};

inline stage::Table mass_table(std::string name, std::string title, const MassFunction& function,
                               double volume, const std::string& mass_units,
                               const std::string& density_units) {
  const auto& edges = function.edges;
  stage::Table out(std::move(name), std::move(title));
  out.column("lower", mass_units, std::vector<double>(edges.begin(), edges.end() - 1));
  out.column("upper", mass_units, std::vector<double>(edges.begin() + 1, edges.end()));
  out.column("count", "", function.counts).role(PILLION_COLUMN_COUNT);
  out.column("density", density_units, function.density(volume));
  out.attribute("below", static_cast<double>(function.below));
  out.attribute("above", static_cast<double>(function.above));
  out.attribute("scale", "log");
  out.attribute("density_scale", "log");
  return out;
}

/// A maximum, and the saddle where its component joins that of a higher one; -1 if there is none.
struct Pair {
  Vertex top, saddle;
};

inline std::vector<Pair> pairs_of(const Tree& tree) {
  std::vector<Pair> out;
  for (size_t n = 0; n < static_cast<size_t>(tree.maxima); ++n) {
    const auto& branch = tree.branches[n];
    out.push_back({tree.nodes[n].top, branch.parent < 0 ? Vertex{} : branch.saddle});
  }
  return out;
}

inline stage::Table table_of_pairs(std::string name, std::string title, const MeshScale& scale,
                                   const std::vector<Pair>& pairs, const std::string& units,
                                   const std::string& length_units) {
  std::vector<int64_t> id, saddle_id;
  std::vector<double> peak, saddle;
  for (const auto& pair : pairs) {
    id.push_back(scale.id(pair.top.id));
    peak.push_back(pair.top.value);
    saddle_id.push_back(scale.id(pair.saddle.id));
    saddle.push_back(pair.saddle.id < 0 ? std::numeric_limits<double>::quiet_NaN()
                                        : pair.saddle.value);
  }
  stage::Table out(std::move(name), std::move(title));
  out.column("id", "", std::move(id)).column("peak", units, std::move(peak));
  out.column("saddle_id", "", std::move(saddle_id)).column("saddle", units, std::move(saddle));
  for (size_t d = 0; d < scale.axes(); ++d) {
    std::vector<double> place;
    for (const auto& pair : pairs)
      place.push_back(scale.coordinate(static_cast<double>(scale.grid().cell(pair.top.id)[d]), d));
    out.column(std::string("peak_") + "xyz"[d], length_units, std::move(place));
  }
  return out;
}

}  // namespace pillion::stages::halos

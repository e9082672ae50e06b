// SPDX-License-Identifier: BSD-3-Clause
// Tables of halos: from cells to the mesh's units of length, also of a coarse publication, whose
// cells are every so many of the mesh's; ids are always those of cells of the whole mesh.
#pragma once

#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "catalogue.hpp"
#include "tree.hpp"

namespace pillion::stages {

/// Finite values of the field.
struct Total {
  int64_t finite = 0;
  double mean = 0;
};

/// The mesh in cells as they are in a publication, and how these lie in space.
class Scale {
 public:
  Scale(const pillion_field_description& field, int64_t factor)
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
  /// Of so many cells one is there.
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
  Columns(const Scale& scale, const Shares& halos, size_t averages)
      : halos_(halos), scale_(scale), width_(averages) {
    for (const auto& halo : halos.halos) mass.push_back(scale.cell_volume() * halo.sums.sum);
  }
  std::vector<double> mass;

  void add_to(stage::Table& table, const std::string& units, const std::string& length,
              const std::string& mass_units) const {
    table.column("id", "", integers([&](const Share& h) { return scale_.id(h.top.id); }));
    table.column("peak", units, reals([](const Share& h) { return h.top.value; }));
    for (size_t d = 0; d < scale_.axes(); ++d)
      table.column(std::string("peak_") + "xyz"[d], length, reals([&](const Share& h) {
                     const auto place = scale_.grid().cell(h.top.id)[d];
                     return scale_.coordinate(static_cast<double>(place), d);
                   }));
    for (size_t d = 0; d < scale_.axes(); ++d)
      table.column(std::string(1, "xyz"[d]), length, reals([&](const Share& h) {
                     return scale_.coordinate(centroid(h, scale_.grid(), d), d);
                   }));
    table.column("mass", mass_units, mass);
    table.column("cells", "", integers([](const Share& h) { return h.sums.cells; }));
    table.column("wraps", "", integers([](const Share& h) { return h.wraps; }));
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

  const Shares& halos_;
  const Scale& scale_;
  size_t width_;
};

inline stage::Table mass_table(std::string name, std::string title, const MassFunction& function,
                               double volume, const std::string& mass_units,
                               const std::string& density_units) {
  const auto& edges = function.edges;
  stage::Table out(std::move(name), std::move(title));
  out.column("lower", mass_units, std::vector<double>(edges.begin(), edges.end() - 1));
  out.column("upper", mass_units, std::vector<double>(edges.begin() + 1, edges.end()));
  out.column("count", "", function.counts);
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

inline stage::Table table_of_pairs(std::string name, std::string title, const Scale& scale,
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

}  // namespace pillion::stages

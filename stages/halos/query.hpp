// SPDX-License-Identifier: BSD-3-Clause
// Halos of given thresholds from a merge tree: which components of the cells above the boundary
// they are, and sums over their cells, from a census of cells in order of value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <utility>
#include <vector>

#include "grid.hpp"
#include "tree.hpp"

namespace pillion::stages::halos {

// Other fields that are added up over the cells of halos, for averages.

/// One component of a field in a block: the sum of its values, or of values times weights.
struct Summand {
  stage::Array array{};
  Cell lo{};  ///< of the block
  int32_t component = 0;
  bool is_weighted = false;

  /// Sum over `count` cells from `first` on along the first axis.
  [[nodiscard]] double of(const Cell& first, int64_t count, const double* weights) const {
    return array.visit([&](const auto* data) { return sum(data, first, count, weights); });
  }

 private:
  template <class T>
  [[nodiscard]] double sum(const T* data, const Cell& first, int64_t count,
                           const double* weights) const {
    const T* at = data + component * array.strides[3];
    for (int d = 0; d < 3; ++d) at += (first[d] - lo[d]) * array.strides[d];
    double out = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(at[i * array.strides[0]]);
      out += is_weighted ? value * weights[i] : value;
    }
    return out;
  }
};

// The cells at or above some level, sorted by basin and then from the highest down, with running
// sums: what a basin has above any higher threshold is one entry, found by halving. So queries
// after the first look at basins, not at cells.

/// What cells add up to. Places are counted in cells.
struct Sums {
  int64_t cells = 0;
  Cell places{};
  double sum = 0;  ///< of the field
};

class Census {
 public:
  /// Counts cells of a piece, whose values are given by place in the piece. `cells` are the places
  /// of all cells at or above `level`.
  template <class T>
  Census(const Piece& piece, const T* values, const Tree& tree, double level,
         std::span<const uint32_t> cells, std::span<const Summand> summands)
      : level_(level), width_(summands.size()) {
    sort(tree, values, cells);
    add_up(piece, summands);
  }

  [[nodiscard]] double level() const { return level_; }

  /// Calls use(place of its top, sums, sums of summands) for each basin with cells at or above
  /// `boundary`, which is not below the level.
  template <class F>
  void for_each_basin(double boundary, F&& use) const {
    for (const Row& row : rows_) {
      if (!(top(row) >= boundary)) return;
      const auto begin = values_.begin() + row.begin;
      const auto end = std::partition_point(begin, values_.begin() + row.end,
                                            [&](double v) { return v >= boundary; });
      const auto last = static_cast<size_t>(end - values_.begin()) - 1;
      use(row.place, running_[last], summed_.data() + last * width_);
    }
  }

 private:
  /// Cells [begin, end) of a basin.
  struct Row {
    uint32_t basin, begin, end;
    Place place;
  };
  [[nodiscard]] double top(const Row& row) const { return values_[row.begin]; }

  /// Basins with the highest top first, and so their cells, for queries read on from the first.
  template <class T>
  void sort(const Tree& tree, const T* values, std::span<const uint32_t> cells) {
    std::vector<uint32_t> next(tree.places.size());
    for (const uint32_t cell : cells)
      if (next[tree.label[cell]]++ == 0) rows_.push_back({tree.label[cell], 0, 0, {}});
    for (auto& row : rows_) row.end = next[row.basin];
    std::vector<T> tops(next.size(), std::numeric_limits<T>::lowest());
    for (const uint32_t cell : cells) {
      auto& top = tops[tree.label[cell]];
      top = std::max(top, values[cell]);
    }
    std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
      return tops[a.basin] > tops[b.basin] || (tops[a.basin] == tops[b.basin] && a.basin < b.basin);
    });
    uint32_t begin = 0;
    for (auto& row : rows_) {
      row.place = tree.places[row.basin];
      row.begin = next[row.basin] = begin;
      begin = row.end += begin;
    }
    cells_.resize(cells.size());
    for (const uint32_t cell : cells) cells_[next[tree.label[cell]]++] = cell;
    values_.resize(cells.size());
    for (const Row& row : rows_) {
      // Of equal values either all are taken or none, but sums should not depend on luck.
      std::sort(cells_.begin() + row.begin, cells_.begin() + row.end, [&](uint32_t a, uint32_t b) {
        return values[a] > values[b] || (values[a] == values[b] && a < b);
      });
      for (uint32_t i = row.begin; i < row.end; ++i)
        values_[i] = static_cast<double>(values[cells_[i]]);
    }
  }

  void add_up(const Piece& piece, std::span<const Summand> summands) {
    running_.resize(cells_.size());
    summed_.resize(cells_.size() * width_);
    const Cell strides = piece.strides();
    for (const Row& row : rows_) {
      Sums sums;
      std::vector<double> others(width_);
      for (uint32_t i = row.begin; i < row.end; ++i) {
        const int64_t z = cells_[i] / strides[2], rest = cells_[i] - z * strides[2];
        const int64_t y = rest / strides[1];
        const Cell at = {piece.lo[0] + rest - y * strides[1], piece.lo[1] + y, piece.lo[2] + z};
        ++sums.cells;
        for (size_t d = 0; d < 3; ++d) sums.places[d] += at[d];
        sums.sum += values_[i];
        running_[i] = sums;
        for (size_t s = 0; s < width_; ++s)
          summed_[i * width_ + s] = others[s] += summands[s].of(at, 1, &values_[i]);
      }
    }
    cells_ = {};
  }

  double level_;
  size_t width_;
  std::vector<Row> rows_;
  std::vector<uint32_t> cells_;
  std::vector<double> values_;
  std::vector<Sums> running_;
  std::vector<double> summed_;
};

// Halos of one rank's cells, from the tree, for any two thresholds. Cells at or above the lower one
// are added up by basin, by looking at them or, if they are few, once for all in a census that
// later queries only look up; then every basin's sums go to the halo that it belongs to in the
// tree. Stretches of cells that are all lower are passed over by their greatest value.

/// What one rank has of a halo, or all of it. Places are those of the image of the halo whose
/// maximum is in the mesh itself.
struct HaloShare {
  Vertex top;
  int64_t wraps = 0;  ///< bits: axes along which the halo wraps round the mesh
  Sums sums;
};

struct HaloShares {
  std::vector<HaloShare> halos;
  std::vector<double> sums;  ///< of the summands, halo after halo
};

template <class T>
class Query {
 public:
  /// All that is given must outlive the query.
  Query(const Grid& grid, const Piece& piece, const T* values, const Tree& tree,
        std::vector<Summand> summands = {})
      : grid_(grid),
        piece_(piece),
        values_(values),
        tree_(tree),
        summands_(std::move(summands)),
        of_node_(tree.nodes.size(), -1),
        roots_(tree.nodes.size()) {
    for_each_stretch([&](const Cell&, int64_t begin, int64_t count) {
      greatest_.push_back(*std::max_element(values + begin, values + begin + count));
    });
  }

  /// Components of the cells at or above `boundary` whose maximum is at or above `peak`.
  HaloShares halos(double boundary, double peak) {
    boundary_ = boundary;
    peak_ = peak;
    ++number_;
    shares_ = {};
    prepare(boundary);
    if (census_)
      census_->for_each_basin(boundary, [&](const Place& place, const Sums& sums,
                                            const double* others) { put(place, sums, others); });
    else look_at_cells();
    for (const auto& wrap : tree_.wraps) put(wrap);
    for (const auto node : halo_nodes_) of_node_[node] = -1;
    halo_nodes_.clear();
    return std::move(shares_);
  }

  /// Makes queries with boundaries from here upwards fast, if cells above are few enough to list.
  void prepare(double boundary) {
    if (census_ && census_->level() <= boundary) return;
    census_.reset();
    std::vector<uint32_t> cells;
    const auto most = static_cast<size_t>(piece_.size() / few);
    for_each_high(
        [&](const Cell&, int64_t begin, int64_t count) {
          for (int64_t c = begin; c < begin + count && cells.size() <= most; ++c)
            if (static_cast<double>(values_[c]) >= boundary)
              cells.push_back(static_cast<uint32_t>(c));
        },
        boundary);
    if (cells.size() <= most) census_.emplace(piece_, values_, tree_, boundary, cells, summands_);
  }

 private:
  static constexpr int64_t longest = 64, few = 6;
  struct Root {
    int64_t number = -1;  ///< of the query it was found for
    int32_t node = -1;
    Image image = 0;
  };

  /// Own cells in stretches along the first axis.
  template <class F>
  void for_each_stretch(F&& use) const {
    const Cell &lo = piece_.inner_lo, &hi = piece_.inner_hi;
    for (int64_t z = lo[2]; z < hi[2]; ++z)
      for (int64_t y = lo[1]; y < hi[1]; ++y) {
        const int64_t row = piece_.offset({lo[0], y, z});
        for (int64_t x = lo[0]; x < hi[0]; x += longest)
          use(Cell{x, y, z}, row + x - lo[0], std::min(longest, hi[0] - x));
      }
  }
  /// Those with cells at or above a level.
  template <class F>
  void for_each_high(F&& use, double level) const {
    size_t stretch = 0;
    for_each_stretch([&](const Cell& first, int64_t begin, int64_t count) {
      if (static_cast<double>(greatest_[stretch++]) >= level) use(first, begin, count);
    });
  }

  void look_at_cells() {
    of_basin_.assign(tree_.places.size(), {});
    others_.assign(tree_.places.size() * summands_.size(), 0);
    for_each_high(
        [&](const Cell& first, int64_t begin, int64_t count) { look_at(first, begin, count); },
        boundary_);
    for (uint32_t basin = 0; basin < of_basin_.size(); ++basin)
      if (of_basin_[basin].cells > 0)
        put(tree_.places[basin], of_basin_[basin], others_.data() + basin * summands_.size());
    of_basin_ = {};
    others_ = {};
  }
  /// Runs of cells in one basin are added up by themselves.
  void look_at(const Cell& first, int64_t begin, int64_t count) {
    const T* values = values_ + begin;
    const uint32_t* label = tree_.label.data() + begin;
    const auto is_in = [&](int64_t i) { return static_cast<double>(values[i]) >= boundary_; };
    for (int64_t i = 0; i < count;) {
      if (!is_in(i)) {
        ++i;
        continue;
      }
      const int64_t start = i;
      double sum = 0;
      for (; i < count && label[i] == label[start] && is_in(i); ++i)
        sum += weights_[i - start] = static_cast<double>(values[i]);
      add(label[start], {first[0] + start, first[1], first[2]}, i - start, sum);
    }
  }
  void add(uint32_t basin, const Cell& first, int64_t count, double sum) {
    auto& to = of_basin_[basin];
    to.cells += count;
    to.places[0] += first[0] * count + count * (count - 1) / 2;
    to.places[1] += first[1] * count;
    to.places[2] += first[2] * count;
    to.sum += sum;
    for (size_t s = 0; s < summands_.size(); ++s)
      others_[basin * summands_.size() + s] += summands_[s].of(first, count, weights_);
  }

  void put(const Place& place, const Sums& sums, const double* others) {
    const Root& root = root_of(place.node);
    if (!(tree_.nodes[root.node].top.value >= peak_)) return;
    auto& to = share(root.node).sums;
    to.cells += sums.cells;
    to.sum += sums.sum;
    const Cell meshes = meshes_of(root.image - place.image);
    for (size_t d = 0; d < 3; ++d)
      to.places[d] += sums.places[d] + sums.cells * meshes[d] * grid_.cells[d];
    double* all = shares_.sums.data() + static_cast<size_t>(of_node_[root.node]) * summands_.size();
    for (size_t s = 0; s < summands_.size(); ++s) all[s] += others[s];
  }
  void put(const Wrap& wrap) {
    if (!(wrap.level.value >= boundary_)) return;
    const Root& root = root_of(static_cast<int32_t>(wrap.node));
    if (tree_.nodes[root.node].top.value >= peak_) share(root.node).wraps |= wrap.axes;
  }
  HaloShare& share(int32_t node) {
    auto& number = of_node_[node];
    if (number < 0) {
      number = static_cast<int32_t>(shares_.halos.size());
      halo_nodes_.push_back(node);
      shares_.halos.push_back({tree_.nodes[node].top, 0, {}});
      shares_.sums.resize(shares_.sums.size() + summands_.size());
    }
    return shares_.halos[number];
  }

  /// The highest node of the component of a node, and the node's image as seen from there.
  const Root& root_of(int32_t node) {
    int32_t at = node;
    for (; roots_[at].number != number_ && is_joined(at); at = tree_.branches[at].parent)
      way_.push_back(at);
    if (roots_[at].number != number_) roots_[at] = {number_, at, 0};
    for (Root root = roots_[at]; !way_.empty(); way_.pop_back()) {
      root.image += tree_.branches[way_.back()].image;
      roots_[way_.back()] = root;
    }
    return roots_[node];
  }
  [[nodiscard]] bool is_joined(int32_t node) const {
    const auto& branch = tree_.branches[node];
    return branch.parent >= 0 && branch.saddle.value >= boundary_;
  }

  const Grid& grid_;
  const Piece& piece_;
  const T* values_;
  const Tree& tree_;
  std::vector<Summand> summands_;
  std::vector<T> greatest_;  ///< of stretches
  std::optional<Census> census_;
  double boundary_ = 0, peak_ = 0;
  std::vector<Sums> of_basin_;
  std::vector<double> others_;  ///< sums of summands, basin after basin
  double weights_[longest] = {};
  std::vector<int32_t> of_node_, halo_nodes_, way_;
  std::vector<Root> roots_;
  int64_t number_ = 0;
  HaloShares shares_;
};

}  // namespace pillion::stages::halos

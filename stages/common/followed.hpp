// SPDX-License-Identifier: BSD-3-Clause
// Cells and elements that are followed through time by their keys. When blocks change, some may be
// new, as after a refinement, and some may have the key that belonged to another one: these are
// found, because records over time must not mix two places.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cell_volumes.hpp"
#include "options.hpp"
#include "places.hpp"

namespace pillion::stages {

/// Where a cell is, and how far its points are from there.
struct CellMark {
  static constexpr size_t width = 4;
  Vec3 centre{};
  double radius = 0;
};

inline CellMark mark_of(std::span<const Vec3> points) {
  CellMark out{mean_of(points), 0};
  for (const auto& p : points) out.radius = std::max(out.radius, length_of(p - out.centre));
  return out;
}

/// Whether two marks are those of one cell that may have moved by `shift` in between. A cell that
/// is refined or coarsened has another size.
inline bool is_same_cell(const CellMark& a, const CellMark& b, double shift) {
  constexpr double grown = 1.6;
  const double most = std::max(a.radius, b.radius), least = std::min(a.radius, b.radius);
  return length_of(a.centre - b.centre) <= most + shift && most <= grown * least + shift;
}

/// What to do with cells that are new, or that have the id of another one.
enum class WhenCellsChange { begin_again, fail };

inline WhenCellsChange when_cells_change(const stage::Setup& setup) {
  return static_cast<WhenCellsChange>(choice(setup["when_cells_change"], {"begin_again", "fail"}));
}

class Followed {
 public:
  Followed(const pillion_field_description& field, WhenCellsChange when)
      : field_(field), mesh_(field.mesh), when_(when) {}

  /// The cells or elements that are here now, where they are not those of before.
  struct Change {
    Places places;
    std::vector<int64_t> keys;  ///< of cells or elements, block by block
    std::vector<double> marks;
    std::vector<int64_t> geometry;
    std::vector<uint8_t> is_known;  ///< by key: whether records of it may exist
    int64_t others = 0;             ///< on all peers: cells that can have none
  };

  /// Nothing if places and keys are those of before. `has_records`: whether it matters which cells
  /// they are; the same on every peer. Throws on every peer if some are others and must not be.
  /// What this keeps stays as it is until the change is accepted. [peers]
  std::optional<Change> look(const stage::Step& step, int32_t input, bool has_records) {
    std::optional<Places> now;
    if (!places_.are_of(step, input)) now.emplace(step, input, field_);
    // The same ids may be those of other cells.
    const bool may_differ = has_marks() && step.block_count(input) > 0;
    const bool has_moved = now && (may_differ || !(*now == places_));
    std::vector<int32_t> moved{must_look_ || has_moved ? 1 : 0};
    step.sum(std::span(moved));
    if (moved[0] == 0) {
      if (now) places_ = std::move(*now);
      move_marks(step, input);
      return {};
    }
    Change out;
    out.places = now ? std::move(*now) : places_;
    out.keys = out.places.unit_keys();
    out.marks = marks_of(step, input, out.places, out.geometry);
    if (has_records) compare(step, out);
    return out;
  }
  void accept(Change change) {
    places_ = std::move(change.places);
    keys_ = std::move(change.keys);
    marks_ = std::move(change.marks);
    geometry_ = std::move(change.geometry);
    changes_ += change.others;
    must_look_ = false;
  }

  [[nodiscard]] const Places& places() const { return places_; }
  /// Of cells or elements, block by block.
  [[nodiscard]] const std::vector<int64_t>& keys() const { return keys_; }
  /// Cells that were new or others so far, after those of the first look. The same on every peer.
  [[nodiscard]] int64_t changes() const { return changes_; }

  void save(const stage::State& state) const {
    const std::vector<uint8_t> nothing(has_marks() ? 0 : keys_.size());
    const std::span<const int64_t> keys(keys_);
    if (has_marks()) state.save("cells", keys, std::span<const double>(marks_), CellMark::width);
    else state.save("cells", keys, std::span<const uint8_t>(nothing), 1);
    state.save("changes", std::vector<int64_t>{changes_});
  }
  void restore(const stage::State& state) {
    if (has_marks()) std::tie(keys_, marks_) = state.load<double>("cells", CellMark::width);
    else keys_ = state.load<uint8_t>("cells", 1).first;
    changes_ = state.load<int64_t>("changes").at(0);
    must_look_ = true;
  }

 private:
  /// Cells in boxes are where their indices say, and elements have numbers.
  [[nodiscard]] bool has_marks() const { return is_unstructured(field_); }

  [[nodiscard]] std::vector<double> marks_of(const stage::Step& step, int32_t input,
                                             const Places& places,
                                             std::vector<int64_t>& geometry) const {
    std::vector<double> out;
    if (!has_marks()) return out;
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      geometry.push_back(block.raw().geometry_version);
      BlockCells cells(step.mesh(mesh_), block);
      for (int64_t unit = 0; unit < places.units(b); ++unit) {
        const auto mark = mark_of(cells.places(places.position(b, unit)));
        out.insert(out.end(), {mark.centre[0], mark.centre[1], mark.centre[2], mark.radius});
      }
    }
    return out;
  }
  /// Of the same cells as before, whose points may have moved.
  void move_marks(const stage::Step& step, int32_t input) {
    if (!has_marks()) return;
    bool are_still = geometry_.size() == static_cast<size_t>(step.block_count(input));
    for (int32_t b = 0; are_still && b < step.block_count(input); ++b) {
      const int64_t version = step.block(input, b).raw().geometry_version;
      are_still = version != 0 && version == geometry_[static_cast<size_t>(b)];
    }
    if (are_still) return;
    std::vector<int64_t> geometry;
    const auto before = std::exchange(marks_, marks_of(step, input, places_, geometry));
    geometry_ = std::move(geometry);
    for (size_t i = 0; i < std::min(marks_.size(), before.size()); i += CellMark::width)
      shift_ = std::max(shift_, length_of(mark_at(marks_, i).centre - mark_at(before, i).centre));
  }
  static CellMark mark_at(std::span<const double> marks, size_t at) {
    return {{{marks[at], marks[at + 1], marks[at + 2]}}, marks[at + 3]};
  }

  void compare(const stage::Step& step, Change& change) const {
    // Where there are no marks, a byte for each key is fetched in their place.
    std::vector<double> then;
    const std::span<const int64_t> had(keys_);
    if (has_marks()) {
      then = step.fetch_known(had, std::span<const double>(marks_), CellMark::width, change.keys,
                              change.is_known);
    } else {
      const std::vector<uint8_t> nothing(keys_.size());
      (void)step.fetch_known(had, std::span<const uint8_t>(nothing), 1, change.keys,
                             change.is_known);
    }
    std::vector<double> shift{shift_};
    if (has_marks()) step.max(std::span(shift));
    constexpr auto none = std::numeric_limits<int64_t>::max();
    std::array<int64_t, 3> counts{0, 0, change.places.has_ids() ? 0 : 1};
    std::array<int64_t, 2> first{none, none};  // keys
    for (size_t i = 0; i < change.keys.size(); ++i) {
      const bool is_there = change.is_known[i] != 0;
      if (is_there &&
          (!has_marks() || is_same_cell(mark_at(change.marks, CellMark::width * i),
                                        mark_at(then, CellMark::width * i), 4 * shift[0])))
        continue;
      change.is_known[i] = 0;
      ++counts[is_there ? 1 : 0];
      first[is_there ? 1 : 0] = std::min(first[is_there ? 1 : 0], change.keys[i]);
    }
    step.sum(std::span<int64_t>(counts));
    step.min(std::span<int64_t>(first));
    change.others = counts[0] + counts[1];
    if (change.others > 0) report(step, counts, first);
  }

  void report(const stage::Step& step, const std::array<int64_t, 3>& counts,
              const std::array<int64_t, 2>& first) const {
    const bool has_boxes = stages::has_boxes(field_);
    const std::string what = field_.mesh_kind == PILLION_SPECTRAL ? "elements" : "cells";
    const std::string of_mesh = what + " of mesh '" + mesh_ + "'";
    if (counts[2] > 0)
      throw Error(ErrorCode::Stage, of_mesh + " have changed at step " +
                                        std::to_string(step.index()) + " and have no ids, by " +
                                        "which series are found again; share `ids` with the cells");
    std::string text;
    if (counts[0] > 0)
      text += std::to_string(counts[0]) + " " + of_mesh + " are new at step " +
              std::to_string(step.index()) + " (" + (has_boxes ? "index " : "id ") +
              std::to_string(first[0]) + " is the first), as after a refinement";
    if (counts[1] > 0)
      text += std::string(counts[0] > 0 ? "; " : "") + std::to_string(counts[1]) + " " + of_mesh +
              " have ids at step " + std::to_string(step.index()) +
              " that belonged to cells elsewhere or of another size (id " +
              std::to_string(first[1]) + " is the first), so ids have been used again";
    if (when_ == WhenCellsChange::fail)
      throw Error(ErrorCode::Stage, text +
                                        "; set `when_cells_change: begin_again`, share the same " +
                                        what + " at every step, and never use an id again");
    step.warn("cells", text + "; what is followed there begins again (said once)");
  }

  pillion_field_description field_;
  std::string mesh_;
  WhenCellsChange when_;
  Places places_;
  std::vector<int64_t> keys_;
  std::vector<double> marks_;      ///< of each key, if there are any
  std::vector<int64_t> geometry_;  ///< versions of the blocks that marks are of
  double shift_ = 0;               ///< the most that a cell has moved between two publications
  int64_t changes_ = 0;
  bool must_look_ = false;  ///< keys are those of a checkpoint
};

}  // namespace pillion::stages

// SPDX-License-Identifier: BSD-3-Clause
// What the channels of a node for catalyst_execute describe: one part for each topology of each
// domain, in Pillion's terms. Values stay where the simulation has them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cells.hpp"
#include "conduit.hpp"

namespace pillion::catalyst {

/// Where a mesh comes from. Domains with the same key are parts of one mesh.
struct Key {
  std::string channel;
  std::string block;  ///< of a multimesh, its name without a number at the end
  std::string topology;
  auto operator<=>(const Key&) const = default;
};

/// What Pillion cannot take. An empty block, topology or field stands for all.
struct Fault {
  Key key;
  std::string field;
  std::string text;
  auto operator<=>(const Fault&) const = default;
  /// Whether it concerns a mesh as a whole.
  [[nodiscard]] bool covers(const Key& mesh) const {
    return field.empty() && key.channel == mesh.channel &&
           (key.block.empty() || key.block == mesh.block) &&
           (key.topology.empty() || key.topology == mesh.topology);
  }
};

enum class Form { Uniform = 1, Rectilinear, Structured, Unstructured, Points };

/// How values lie over indices: the value of (i, j, k) is number first + i * steps[0] + ….
struct Lattice {
  int64_t first = 0;
  std::array<int64_t, 3> steps{};
  [[nodiscard]] int64_t at(const std::array<int64_t, 3>& index) const {
    return first + index[0] * steps[0] + index[1] * steps[1] + index[2] * steps[2];
  }
  /// Begins at the index `offsets` of an array with these strides.
  void begin_at(const Array& offsets, const Array& strides);
  /// Whether an array of so many values has those of all cells, or points, of a box.
  [[nodiscard]] bool fits(const std::array<int64_t, 3>& cells, int axes, bool at_points,
                          int64_t count) const;
};

/// The numbers of the values of a box's cells or points, the first axis fastest.
std::vector<int64_t> values_of_box(const std::array<int64_t, 3>& lo, std::array<int64_t, 3> hi,
                                   int axes, const Lattice& lattice, bool at_points);

struct FieldValues {
  std::string name;
  std::string units;
  bool at_points = false;
  std::vector<Array> components;
  Lattice lattice;  ///< of boxes
};

struct Part {
  Key key;
  std::string path;  ///< of its topology
  Form form = Form::Uniform;
  std::string units;  ///< of lengths
  std::vector<FieldValues> fields;
  std::vector<uint8_t> flags;  ///< VTK's of each cell or point; empty if there are none

  // Of boxes.
  int axes = 0;
  std::array<size_t, 3> order{0, 1,
                              2};  ///< Blueprint's axis of each; those without cells are left out
  std::array<int64_t, 3> cells{1, 1, 1};
  std::array<int64_t, 3> lo{}, hi{1, 1, 1};  ///< the cells that are not ghosts
  std::array<double, 3> origin{}, spacing{1, 1, 1};
  std::array<std::vector<double>, 3> faces;
  std::optional<std::array<int64_t, 3>> index;  ///< of its first cell in the whole mesh
  Lattice lattice_of_points;
  bool is_nested = false;  ///< its domain has nesting sets

  // Of all but uniform and rectilinear parts: an array for each axis in space.
  std::vector<Array> coordinates;
  CellTable table;  ///< of unstructured ones

  [[nodiscard]] bool is_box() const { return form <= Form::Structured; }
  [[nodiscard]] int64_t number_of_cells() const;
  [[nodiscard]] int64_t number_of_points() const;
  /// Of the cells, or points, that are not ghosts.
  [[nodiscard]] int64_t number_of_own() const;
  /// The same for one that has no cells or points: there is nothing to share.
  [[nodiscard]] bool is_empty() const;
};

struct Description {
  std::vector<Part> parts;
  std::vector<Fault> faults;
};

/// `channels` is the node "catalyst/channels". What cannot be understood is a fault; nothing is
/// thrown for it.
Description describe(const Node& channels);

/// VTK's bits of each cell of a part, or of each particle. Empty if no field of the domain is of
/// ghosts. Adds the names of those fields to `names`.
std::vector<uint8_t> read_flags(const Node& domain, const Part& part,
                                std::vector<std::string>& names);

/// Keeps the box of cells without flags of another owner; throws Error if they are no box.
void leave_out_ghosts(Part& part);

/// The fields of a topology, except those named, with what is wrong with others.
void read_fields(const Node& domain, const std::vector<std::string>& except, Part& part,
                 std::vector<Fault>& faults);

}  // namespace pillion::catalyst

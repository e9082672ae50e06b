// SPDX-License-Identifier: BSD-3-Clause
// Fields of a topology, and which of its cells are ghosts. A field may be one array, or an array
// for each component; of boxes it may lie in a larger array.
#include <fmt/format.h>

#include <algorithm>
#include <pillion/error.hpp>

#include "parts.hpp"

namespace pillion::catalyst {

namespace {

constexpr uint8_t duplicate = 1, hidden = 32;
/// Of a field in a catalogue.
constexpr size_t most_components = 1000;

bool is_at_points(const Node& field) {
  const auto association = field.find("association");
  if (!association)
    refuse(
        fmt::format("'{}/association' is missing: Pillion takes values at cells and points, no "
                    "functions of a basis",
                    field.path()));
  const std::string text = association->text();
  if (text != "vertex" && text != "element")
    refuse(fmt::format("'{}' is '{}'; Pillion takes 'vertex' and 'element'", association->path(),
                       text));
  return text == "vertex";
}

/// The node of ParaView's attributes of a field.
std::optional<Node> metadata_of(const Node& domain, const std::string& field) {
  const auto fields = domain.find("state/metadata/vtk_fields");
  return fields ? fields->find(field.c_str()) : std::nullopt;
}

/// What a value of a field of ghosts means, in VTK's bits.
class GhostValues {
 public:
  /// Nothing if the field is not one of ghosts.
  static std::optional<GhostValues> of(const Node& domain, const std::string& field) {
    GhostValues out;
    if (field == "ascent_ghosts") {
      out.replaced_ = {{1, duplicate}, {2, hidden}};
      return out;
    }
    const auto metadata = metadata_of(domain, field);
    const auto type = metadata ? metadata->find("attribute_type") : std::nullopt;
    if (field != "vtkGhostType" && !(type && type->is_text() && type->text() == "Ghosts"))
      return {};
    if (metadata && metadata->has("values_to_replace")) {
      const Array from = metadata->at("values_to_replace").array();
      const Array to = metadata->at("replacement_values").array();
      for (int64_t i = 0; i < std::min(from.count, to.count); ++i)
        out.replaced_.emplace_back(from.integer(i), static_cast<uint8_t>(to.integer(i)));
    }
    return out;
  }
  [[nodiscard]] uint8_t flag(int64_t value) const {
    for (const auto& [from, to] : replaced_)
      if (from == value) return to;
    return static_cast<uint8_t>(value);
  }

 private:
  std::vector<std::pair<int64_t, uint8_t>> replaced_;
};

std::vector<Array> components_of(const Node& values) {
  std::vector<Array> out;
  if (!values.has_children()) return {values.array()};
  for (const auto& child : values.children()) out.push_back(child.array());
  if (out.empty()) refuse(fmt::format("'{}' is empty", values.path()));
  if (out.size() > most_components)
    refuse(fmt::format("'{}' has {} components; Pillion takes up to {}", values.path(), out.size(),
                       most_components));
  for (const auto& each : out)
    if (each.type != out.front().type)
      refuse(
          fmt::format("the components of '{}' are of the types {} and {}; Pillion needs one type",
                      values.path(), name_of(out.front().type), name_of(each.type)));
  return out;
}

/// Values one behind the other over the cells or points of the part, as Blueprint has them.
Lattice packed(const Part& part, bool at_points) {
  Lattice lattice;
  int64_t step = 1;
  for (size_t a = 0; a < static_cast<size_t>(part.axes); ++a) {
    lattice.steps[a] = step;
    step *= part.cells[a] + (at_points ? 1 : 0);
  }
  return lattice;
}

/// Where the values of a field are that lies in a larger array; `offsets` and `strides` have an
/// entry for each axis, in elements.
void put_lattice(const Node& field, const Part& part, FieldValues& out) {
  const auto strides = field.find("strides");
  if (!strides) return;
  const Array step = strides->array();
  const auto offsets = field.find("offsets");
  const Array first = offsets ? offsets->array() : Array{};
  out.lattice = {};
  for (size_t a = 0; a < static_cast<size_t>(part.axes); ++a) {
    const auto d = static_cast<int64_t>(part.order[a]);
    if (d >= step.count)
      refuse(fmt::format("'{}' has {} entries, too few for the axes of its mesh", strides->path(),
                         step.count));
    out.lattice.steps[a] = step.integer(d);
  }
  out.lattice.begin_at(first, step);
}

void check_count(const Node& field, const Part& part, const FieldValues& out) {
  const int64_t wanted = out.at_points ? part.number_of_points() : part.number_of_cells();
  const char* items = out.at_points ? "points" : "cells";
  for (const auto& array : out.components) {
    if (!part.is_box() || !field.has("strides")) {
      if (array.count == wanted) continue;
      refuse(fmt::format("'{}' has {} values, and '{}' has {} {}", field.path(), array.count,
                         part.path, wanted, items));
    }
    if (!out.lattice.fits(part.cells, part.axes, out.at_points, array.count))
      refuse(fmt::format("'{}' has {} values, too few for its offsets and strides", field.path(),
                         array.count));
  }
}

FieldValues read_field(const Node& field, const Part& part) {
  FieldValues out;
  out.name = field.name();
  if (!field.has("values"))
    refuse(
        fmt::format("'{}/values' is missing; Pillion takes no values of materials", field.path()));
  out.at_points = is_at_points(field);
  if (const auto units = field.find("units"); units && units->is_text()) out.units = units->text();
  out.components = components_of(field.at("values"));
  if (part.is_box()) {
    out.lattice = packed(part, out.at_points);
    put_lattice(field, part, out);
  }
  check_count(field, part, out);
  return out;
}

bool is_of(const Node& field, const std::string& topology) {
  const auto name = field.find("topology");
  return name && name->is_text() && name->text() == topology;
}

}  // namespace

std::vector<int64_t> values_of_box(const std::array<int64_t, 3>& lo, std::array<int64_t, 3> hi,
                                   int axes, const Lattice& lattice, bool at_points) {
  for (size_t a = 0; a < static_cast<size_t>(axes); ++a) hi[a] += at_points ? 1 : 0;
  std::vector<int64_t> out;
  for (int64_t k = lo[2]; k < hi[2]; ++k)
    for (int64_t j = lo[1]; j < hi[1]; ++j)
      for (int64_t i = lo[0]; i < hi[0]; ++i) out.push_back(lattice.at({i, j, k}));
  return out;
}

std::vector<uint8_t> read_flags(const Node& domain, const Part& part,
                                std::vector<std::string>& names) {
  std::vector<uint8_t> flags;
  const auto fields = domain.find("fields");
  if (!fields) return flags;
  for (const auto& field : fields->children()) {
    const auto meaning =
        is_of(field, part.key.topology) ? GhostValues::of(domain, field.name()) : std::nullopt;
    if (!meaning) continue;
    names.push_back(field.name());
    const bool is_wanted = part.form == Form::Points || !is_at_points(field);
    if (!is_wanted || !flags.empty()) continue;
    const FieldValues ghosts = read_field(field, part);
    const Array& values = ghosts.components.front();
    if (!part.is_box())
      for (int64_t i = 0; i < values.count; ++i) flags.push_back(meaning->flag(values.integer(i)));
    else
      for (const int64_t i : values_of_box({}, part.cells, part.axes, ghosts.lattice, false))
        flags.push_back(meaning->flag(values.integer(i)));
  }
  return flags;
}

void leave_out_ghosts(Part& part) {
  if (part.flags.empty()) return;
  std::array<int64_t, 3> lo = part.cells, hi{};
  int64_t own = 0;
  size_t at = 0;
  for (int64_t k = 0; k < part.cells[2]; ++k)
    for (int64_t j = 0; j < part.cells[1]; ++j)
      for (int64_t i = 0; i < part.cells[0]; ++i, ++at) {
        // Pillion finds out by itself which cells finer boxes cover.
        if ((part.flags[at] & (duplicate | hidden)) != 0) continue;
        const std::array<int64_t, 3> cell{i, j, k};
        for (size_t a = 0; a < 3; ++a) {
          lo[a] = std::min(lo[a], cell[a]);
          hi[a] = std::max(hi[a], cell[a] + 1);
        }
        ++own;
      }
  if (own == 0) lo = hi = {};
  part.lo = lo;
  part.hi = hi;
  if (part.number_of_own() != own)
    refuse(
        fmt::format("the cells of '{}' that are not ghosts are no box: {} of the {} in their "
                    "bounds",
                    part.path, own, part.number_of_own()));
}

void read_fields(const Node& domain, const std::vector<std::string>& except, Part& part,
                 std::vector<Fault>& faults) {
  const auto fields = domain.find("fields");
  if (!fields) return;
  for (const auto& field : fields->children()) {
    const std::string name = field.name();
    if (std::find(except.begin(), except.end(), name) != except.end()) continue;
    if (!is_of(field, part.key.topology)) continue;
    try {
      part.fields.push_back(read_field(field, part));
    } catch (const std::exception& problem) {
      faults.push_back({part.key, name, problem.what()});
    }
  }
}

}  // namespace pillion::catalyst

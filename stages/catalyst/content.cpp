// SPDX-License-Identifier: BSD-3-Clause
// Reading the fields, packing their values, and describing them.
#include "content.hpp"

#include <algorithm>
#include <cstdio>

#include "../common/cells.hpp"
#include "../common/elements.hpp"

namespace pillion::stages::catalyst {

namespace {

std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

template <class F>
std::string listed(size_t count, F&& entry) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + entry(i);
  return out + "]";
}

using Corner = std::array<int64_t, 3>;

/// The elements from lo to hi of an array whose first one is `begin`, with zeros behind them if
/// each is to have more components.
void pack_part(const stage::Array& array, const Corner& lo, const Corner& hi, const Corner& begin,
               std::vector<double>& out, int32_t components = 0) {
  array.visit([&](const auto* data) {
    for (int64_t k = lo[2]; k < hi[2]; ++k)
      for (int64_t j = lo[1]; j < hi[1]; ++j)
        for (int64_t i = lo[0]; i < hi[0]; ++i) {
          const auto* element = data + (i - begin[0]) * array.strides[0] +
                                (j - begin[1]) * array.strides[1] +
                                (k - begin[2]) * array.strides[2];
          for (int32_t c = 0; c < array.components; ++c)
            out.push_back(static_cast<double>(element[c * array.strides[3]]));
          for (int32_t c = array.components; c < components; ++c) out.push_back(0);
        }
  });
}

void pack_first(const stage::Array& array, int64_t count, std::vector<double>& out,
                int32_t components = 0) {
  pack_part(array, {0, 0, 0}, {count, 1, 1}, {0, 0, 0}, out, components);
}

template <class T>
void append(const T* values, int64_t count, std::vector<double>& out) {
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<double>(values[i]));
}

/// Faces of polyhedra as VTK takes them: of each polyhedron the number of its faces, then of each
/// face the number of its points, and these. `begins` names the place of each cell's, or is -1.
struct Faces {
  std::vector<double> begins, stream;
};
Faces faces_of(const pillion_connectivity& of, int64_t cells) {
  Faces out;
  if (of.face_count == 0) return out;
  for (int64_t c = 0; c < cells; ++c) {
    const int64_t first = of.polyhedron_offsets[c], end = of.polyhedron_offsets[c + 1];
    out.begins.push_back(first == end ? -1 : static_cast<double>(out.stream.size()));
    if (first == end) continue;
    out.stream.push_back(static_cast<double>(end - first));
    for (int64_t f = first; f < end; ++f) {
      const int64_t face = of.polyhedron_faces[f];
      const int64_t begin = of.face_offsets[face], points = of.face_offsets[face + 1] - begin;
      out.stream.push_back(static_cast<double>(points));
      append(of.face_points + begin, points, out.stream);
    }
  }
  return out;
}

/// Cells, origin and spacing of a mesh of boxes, or the coordinates of its faces. Axes that it
/// lacks have one cell of length 1.
std::string geometry_of(const pillion_mesh& mesh) {
  const auto axes = static_cast<size_t>(mesh.axes);
  const auto spacing = [&](size_t d) {
    return d < axes ? mesh.length[d] / static_cast<double>(mesh.cells[d]) : 1;
  };
  const auto faces = [&](size_t d) {
    if (d >= axes) return std::string("[0, 1]");
    const auto count = static_cast<size_t>(mesh.cells[d]) + 1;
    return listed(count, [&](size_t i) { return exact(mesh.coordinates[d][i]); });
  };
  const std::string out = ", \"cells\": " + listed(3, [&](size_t d) {
                            return std::to_string(d < axes ? mesh.cells[d] : 1);
                          });
  if (mesh.kind == PILLION_CURVILINEAR) return out;
  if (mesh.kind == PILLION_RECTILINEAR) return out + ", \"faces\": " + listed(3, faces);
  return out + ", \"origin\": " +
         listed(3, [&](size_t d) { return exact(d < axes ? mesh.origin[d] : 0); }) +
         ", \"spacing\": " + listed(3, [&](size_t d) { return exact(spacing(d)); });
}

}  // namespace

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

Content::Content(const stage::Setup& setup) {
  const auto names = setup["fields"];
  for (const auto& name : names.texts()) add(setup, name, names);
  if (fields_.empty()) names.fail("at least one field is needed");
  kind_ = fields_[0].description.mesh_kind;
  mesh_ = fields_[0].description.mesh;
  expect_supported(names);
  if (kind_ == PILLION_SPECTRAL) coordinates_ = fields_[0].description.coordinates;
  read_position(setup);
  for (const auto& field : fields_)
    if (field.description.mesh != mesh_)
      names.fail("fields of one mesh are needed; '" + field.name + "' is on '" +
                 field.description.mesh + "', and '" + fields_[0].name + "' on '" + mesh_ + "'");
}

bool Content::has_boxes() const {
  return kind_ == PILLION_UNIFORM || kind_ == PILLION_RECTILINEAR || kind_ == PILLION_CURVILINEAR;
}

void Content::expect_supported(const stage::Value& place) const {
  const auto& mesh = fields_[0].description;
  if (stages::has_weight(mesh))
    place.fail("VTK has no cells that count in part, and mesh '" + mesh_ + "' has by its weight '" +
               mesh.weight + "'; put `flatten` before this stage");
  if (stages::has_boxes(mesh) && mesh.metric != PILLION_CARTESIAN)
    place.fail("VTK takes coordinates for x, y and z, and mesh '" + mesh_ + "' has the metric " +
               (mesh.metric == PILLION_SPHERICAL ? "spherical" : "cylindrical"));
}

void Content::read_position(const stage::Setup& setup) {
  const auto position = setup["position"], names = setup["fields"];
  if (kind_ == PILLION_PARTICLES && !position)
    names.fail("these are fields of particles: set `position: FIELD`");
  if (kind_ != PILLION_PARTICLES && position)
    position.fail("`position` is for particles; field '" + fields_[0].name + "' is of none");
  if (position) coordinates_ = position.text();
  if (!coordinates_.empty()) add(setup, coordinates_, position ? position : names);
  if (!position) return;
  for (const auto& field : fields_)
    if (field.name == coordinates_ && field.description.components != 3)
      position.fail("field '" + coordinates_ + "' has not three components");
}

void Content::add(const stage::Setup& setup, const std::string& name, const stage::Value& place) {
  for (const auto& field : fields_)
    if (field.name == name) return;
  fields_.push_back({name, setup.field(name, place)});
}

std::vector<std::string> Content::names() const {
  std::vector<std::string> out;
  for (const auto& field : fields_) out.push_back(field.name);
  return out;
}

double Content::doubles() const {
  double bytes = 0;
  for (const auto& field : fields_) bytes += 8 * field.description.components;
  return bytes;
}

stage::Input Content::input(bool in_pieces) const {
  // A layer of copies around a piece lets filters find values at its border as they are elsewhere.
  if (kind_ == PILLION_UNSTRUCTURED) return stage::Input::spatial("", in_pieces ? 1 : 0, names());
  if (!has_boxes()) return stage::Input::as_shared(names());
  auto input = stage::Input::blocks(names());
  return in_pieces ? std::move(input).with_ghosts({1, 1, 1}) : input;
}

std::vector<double> Content::packed(const stage::Step& step, int32_t input) const {
  std::vector<double> out;
  for (int32_t b = 0; b < step.block_count(input); ++b) {
    const auto block = step.block(input, b);
    if (has_boxes()) pack_box(block, step.mesh(mesh_), out);
    else if (kind_ == PILLION_UNSTRUCTURED) pack_cells(block, out);
    else pack_items(block, out);
  }
  return out;
}

// Ghost cells beyond the end of a periodic mesh are left out: the whole mesh has none there.
void Content::pack_box(const stage::Block& block, const pillion_mesh& mesh,
                       std::vector<double>& out) const {
  Corner begin{}, lo{}, hi{1, 1, 1}, inner_lo{}, inner_hi{1, 1, 1};
  for (size_t d = 0; d < static_cast<size_t>(mesh.axes); ++d) {
    begin[d] = block.lo()[d];
    lo[d] = std::max<int64_t>(begin[d], 0);
    hi[d] = std::min(block.hi()[d], mesh.cells[d]);
    inner_lo[d] = block.inner_lo()[d], inner_hi[d] = block.inner_hi()[d];
  }
  for (const auto* corner : {&lo, &hi, &inner_lo, &inner_hi}) append(corner->data(), 3, out);
  if (kind_ == PILLION_CURVILINEAR) {
    Corner last = hi;
    for (size_t d = 0; d < static_cast<size_t>(mesh.axes); ++d) ++last[d];
    pack_part(block.coordinates(), lo, last, begin, out, 3);
  }
  for (size_t f = 0; f < fields_.size(); ++f)
    pack_part(block[static_cast<int32_t>(f)], lo, hi, begin, out);
}

void Content::pack_cells(const stage::Block& block, std::vector<double>& out) const {
  const auto& of = block.connectivity();
  const int64_t cells = block.count(), points = block.point_count(), ids = of.offsets[cells];
  const Faces faces = faces_of(of, cells);
  const int64_t sizes[] = {cells, points, ids, static_cast<int64_t>(faces.stream.size())};
  append(sizes, 4, out);
  append(of.types, cells, out);
  if (const auto* flags = block.raw().flags) pack_first(stage::array_of(*flags), cells, out);
  else out.resize(out.size() + static_cast<size_t>(cells));
  append(of.offsets, cells + 1, out);
  append(of.points, ids, out);
  out.insert(out.end(), faces.begins.begin(), faces.begins.end());
  out.insert(out.end(), faces.stream.begin(), faces.stream.end());
  pack_first(block.coordinates(), points, out, 3);
  for (size_t f = 0; f < fields_.size(); ++f)
    pack_first(block[static_cast<int32_t>(f)],
               fields_[f].description.centering == PILLION_POINT ? points : cells, out);
}

void Content::pack_items(const stage::Block& block, std::vector<double>& out) const {
  out.push_back(static_cast<double>(block.owned()));
  for (size_t f = 0; f < fields_.size(); ++f)
    pack_first(block[static_cast<int32_t>(f)], block.owned(), out);
}

std::string Content::message(const stage::Step& step, bool whole,
                             const std::string& entries) const {
  const char* kinds[] = {
      "", "uniform", "particles", "spectral", "rectilinear", "curvilinear", "unstructured"};
  const auto& mesh = fields_[0].description;
  std::string out =
      "{\"kind\": " + json_text(kinds[kind_]) + ", \"whole\": " + (whole ? "true" : "false") +
      entries + ", \"step\": " + std::to_string(step.index()) +
      ", \"time\": " + exact(step.time()) + ", \"position\": " + json_text(coordinates_) +
      ", \"coordinates\": " + json_text(coordinates_);
  if (has_boxes()) out += geometry_of(step.mesh(mesh_));
  return out + ", \"order\": " + std::to_string(mesh.order) +
         ", \"dimensions\": " + std::to_string(mesh.axes) + ", \"fields\": " +
         listed(fields_.size(), [&](size_t f) { return described(fields_[f]); }) + "}";
}

std::string Content::described(const Field& field) const {
  const auto& of = field.description;
  return "{\"name\": " + json_text(field.name) +
         ", \"components\": " + std::to_string(of.components) +
         ", \"values\": " + std::to_string(of.components * stages::points_of(of)) +
         ", \"at_points\": " + (of.centering == PILLION_POINT ? "true" : "false") + "}";
}

}  // namespace pillion::stages::catalyst

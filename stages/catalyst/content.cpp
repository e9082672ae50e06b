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

/// The cells from lo to hi of a block in which ghost cells may lie around them.
void pack_cells(const stage::Array& array, const Corner& lo, const Corner& hi, const int64_t* begin,
                std::vector<double>& out) {
  array.visit([&](const auto* data) {
    for (int64_t k = lo[2]; k < hi[2]; ++k)
      for (int64_t j = lo[1]; j < hi[1]; ++j)
        for (int64_t i = lo[0]; i < hi[0]; ++i) {
          const auto* cell = data + (i - begin[0]) * array.strides[0] +
                             (j - begin[1]) * array.strides[1] + (k - begin[2]) * array.strides[2];
          for (int32_t c = 0; c < array.components; ++c)
            out.push_back(static_cast<double>(cell[c * array.strides[3]]));
        }
  });
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
  stages::expect_equal_cells(fields_[0].description, names, "an image of VTK");
  mesh_ = fields_[0].description.mesh;
  if (kind_ == PILLION_SPECTRAL) coordinates_ = fields_[0].description.coordinates;
  read_position(setup);
  for (const auto& field : fields_)
    if (field.description.mesh != mesh_)
      names.fail("fields of one mesh are needed; '" + field.name + "' is on '" +
                 field.description.mesh + "', and '" + fields_[0].name + "' on '" + mesh_ + "'");
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

std::vector<double> Content::packed(const stage::Step& step, int32_t input) const {
  std::vector<double> out;
  const auto all = cells(kind_ == PILLION_UNIFORM ? step.coarsening(mesh_) : 1);
  for (int32_t b = 0; b < step.block_count(input); ++b) {
    const auto block = step.block(input, b);
    if (kind_ == PILLION_UNIFORM) pack_box(block, all, out);
    else pack_items(block, out);
  }
  return out;
}

// Ghost cells beyond the end of a periodic mesh are left out: the whole mesh has none there.
void Content::pack_box(const stage::Block& block, const Corner& cells,
                       std::vector<double>& out) const {
  const int32_t axes = fields_[0].description.axes;
  Corner lo{}, hi{1, 1, 1}, inner_lo{}, inner_hi{1, 1, 1};
  for (int32_t d = 0; d < axes; ++d) {
    lo[d] = std::max<int64_t>(block.lo()[d], 0);
    hi[d] = std::min(block.hi()[d], cells[d]);
    inner_lo[d] = block.inner_lo()[d], inner_hi[d] = block.inner_hi()[d];
  }
  for (const auto* corner : {&lo, &hi, &inner_lo, &inner_hi})
    for (const int64_t bound : *corner) out.push_back(static_cast<double>(bound));
  const int64_t begin[3] = {block.lo()[0], axes > 1 ? block.lo()[1] : 0,
                            axes > 2 ? block.lo()[2] : 0};
  for (size_t f = 0; f < fields_.size(); ++f)
    pack_cells(block[static_cast<int32_t>(f)], lo, hi, begin, out);
}

void Content::pack_items(const stage::Block& block, std::vector<double>& out) const {
  out.push_back(static_cast<double>(block.owned()));
  for (size_t f = 0; f < fields_.size(); ++f) {
    const auto array = block[static_cast<int32_t>(f)];
    array.visit([&](const auto* data) {
      for (int64_t i = 0; i < block.owned(); ++i)
        for (int32_t c = 0; c < array.components; ++c)
          out.push_back(static_cast<double>(data[i * array.strides[0] + c * array.strides[3]]));
    });
  }
}

std::string Content::message(const stage::Step& step, bool whole,
                             const std::string& entries) const {
  const char* kinds[] = {"", "uniform", "particles", "spectral"};
  const auto& mesh = fields_[0].description;
  std::string out =
      "{\"kind\": " + json_text(kinds[kind_]) + ", \"whole\": " + (whole ? "true" : "false") +
      entries + ", \"step\": " + std::to_string(step.index()) +
      ", \"time\": " + exact(step.time()) + ", \"position\": " + json_text(coordinates_) +
      ", \"coordinates\": " + json_text(coordinates_);
  if (kind_ == PILLION_UNIFORM) out += geometry(step.coarsening(mesh_));
  return out + ", \"order\": " + std::to_string(mesh.order) +
         ", \"dimensions\": " + std::to_string(mesh.axes) + ", \"fields\": " +
         listed(fields_.size(), [&](size_t f) { return described(fields_[f]); }) + "}";
}

std::array<int64_t, 3> Content::cells(int64_t factor) const {
  const auto& mesh = fields_[0].description;
  Corner out{1, 1, 1};
  for (int32_t d = 0; d < mesh.axes && kind_ == PILLION_UNIFORM; ++d)
    out[d] = (mesh.cells[d] + factor - 1) / factor;
  return out;
}

std::string Content::geometry(int64_t factor) const {
  const auto& mesh = fields_[0].description;
  const auto axes = static_cast<size_t>(mesh.axes);
  const auto all = cells(factor);
  const auto spacing = [&](size_t d) {
    if (d >= axes) return 1.0;
    return mesh.length[d] / static_cast<double>(mesh.cells[d]) * static_cast<double>(factor);
  };
  return ", \"cells\": " + listed(3, [&](size_t d) { return std::to_string(all[d]); }) +
         ", \"origin\": " +
         listed(3, [&](size_t d) { return exact(d < axes ? mesh.origin[d] : 0); }) +
         ", \"spacing\": " + listed(3, [&](size_t d) { return exact(spacing(d)); });
}

std::string Content::described(const Field& field) const {
  const auto points = stages::points_of(field.description);
  return "{\"name\": " + json_text(field.name) +
         ", \"components\": " + std::to_string(field.description.components) +
         ", \"values\": " + std::to_string(field.description.components * points) +
         ", \"at_points\": " + (points > 1 ? "true" : "false") + "}";
}

}  // namespace pillion::stages::catalyst

// SPDX-License-Identifier: BSD-3-Clause
#include "geometry.hpp"

#include <functional>
#include <string_view>

#include "../../common/names.hpp"
#include "../fields.hpp"
#include "index.hpp"

namespace pillion::stages::write_raw {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T* values, int64_t count) {
  return std::as_bytes(std::span(values, static_cast<size_t>(count)));
}

/// Bits of each cell, one byte after the other.
Bytes packed_flags(const pillion_array& flags, int64_t count) {
  Bytes out(static_cast<size_t>(count));
  for (int64_t c = 0; c < count; ++c)
    out[static_cast<size_t>(c)] = static_cast<const std::byte*>(flags.data)[c * flags.strides[0]];
  return out;
}

size_t digest_of(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

void GeometryFiles::begin(const std::filesystem::path& products, const std::string& path) {
  path_ = path;
  whole_path_ = products / path;
  open_.reset();
  file_.reset();
  bytes_ = 0;
  next_.clear();
  entries_.clear();
}

void GeometryFiles::add(const stage::Block& block, int32_t axes) {
  const auto found = known_.find(block.id());
  const Parts* before = found == known_.end() ? nullptr : &found->second;
  auto& now = next_[block.id()];
  now.points = points_of(block, axes, before == nullptr ? nullptr : &before->points);
  entries_ += "  - {points: " + now.points.entry;
  if (block.raw().connectivity != nullptr) {
    now.cells = cells_of(block, before == nullptr ? nullptr : &before->cells);
    entries_ += ", cells: " + now.cells.entry;
  }
  entries_ += "}\n";
}

/// Points of a box are in the order of its indices, the first axis fastest.
GeometryFiles::Part GeometryFiles::points_of(const stage::Block& block, int32_t axes,
                                             const Part* before) {
  const auto& raw = block.raw();
  const bool is_box = raw.connectivity == nullptr;
  // Ids may change while points stay where they are.
  const auto* given = is_box ? nullptr : raw.connectivity->point_ids;
  const auto ids = bytes_of(given, given == nullptr ? 0 : raw.points.total);
  Part out{.version = raw.geometry_version, .digest = digest_of(ids), .entry = {}};
  if (out.version != 0 && is_same(out, before)) return *before;
  const auto array = block.coordinates();
  int64_t extent[3] = {raw.points.total, 1, 1};
  std::vector<int64_t> shape;
  for (int32_t d = 0; is_box && d < axes; ++d) extent[d] = block.hi()[d] - block.lo()[d] + 1;
  for (int32_t d = is_box ? axes : 1; d-- > 0;) shape.push_back(extent[d]);
  shape.push_back(array.components);
  const Bytes copy = write::is_packed(array, extent) ? Bytes{} : write::close_packed(array, extent);
  const auto size = static_cast<size_t>(extent[0] * extent[1] * extent[2] * array.components) *
                    write::bytes_of(array.type);
  const auto* values = copy.empty() ? static_cast<const std::byte*>(array.data) : copy.data();
  const std::span coordinates(values, size);
  if (out.version == 0) {
    // Another box may have the same bytes.
    const auto extents = std::as_bytes(std::span(shape));
    out.digest = 31 * (31 * out.digest + digest_of(coordinates)) + digest_of(extents);
    if (is_same(out, before)) return *before;
  }
  std::vector<Column> columns{{"coordinates", array.type, std::move(shape), coordinates}};
  if (given != nullptr) columns.push_back({"ids", PILLION_INT64, {raw.points.total}, ids});
  out.entry = write(columns);
  return out;
}

/// The names are those of the call in Python that shares cells.
GeometryFiles::Part GeometryFiles::cells_of(const stage::Block& block, const Part* before) {
  const auto& raw = block.raw();
  Part out{.version = raw.topology_version, .entry = {}};
  if (out.version != 0 && is_same(out, before)) return *before;
  const auto& of = *raw.connectivity;
  const int64_t cells = raw.cells.total, faces = of.face_count;
  std::vector<Column> columns;
  const auto put = [&](const char* name, pillion_type type, const auto* values, int64_t count) {
    columns.push_back({name, type, {count}, bytes_of(values, count)});
  };
  const int64_t none = 0;  // of a block without cells
  const int64_t* offsets = cells > 0 ? of.offsets : &none;
  put("types", PILLION_UINT8, of.types, cells);
  put("offsets", PILLION_INT64, offsets, cells + 1);
  put("points", PILLION_INT64, of.points, offsets[cells]);
  if (faces > 0) {
    put("face_offsets", PILLION_INT64, of.face_offsets, faces + 1);
    put("face_points", PILLION_INT64, of.face_points, of.face_offsets[faces]);
    put("polyhedron_offsets", PILLION_INT64, of.polyhedron_offsets, cells + 1);
    put("polyhedron_faces", PILLION_INT64, of.polyhedron_faces, of.polyhedron_offsets[cells]);
  }
  if (of.cell_ids != nullptr) put("ids", PILLION_INT64, of.cell_ids, cells);
  if (of.parents != nullptr) put("parents", PILLION_INT64, of.parents, cells);
  if (of.patches != nullptr) put("patches", PILLION_INT32, of.patches, cells);
  const Bytes flags = raw.flags == nullptr ? Bytes{} : packed_flags(*raw.flags, cells);
  if (raw.flags != nullptr) put("flags", PILLION_UINT8, flags.data(), cells);
  out.entry = write(columns);
  return out;
}

std::string GeometryFiles::write(const std::vector<Column>& columns) {
  if (!file_) {
    file_.emplace(whole_path_);
    open_.emplace();
  }
  std::string entry = "{file: " + in_quotes(path_);
  for (const auto& column : columns) {
    open_->write(file_->aside(), column.bytes, bytes_);
    entry += ", " + column.name + ": {type: " + in_quotes(type_name(column.type)) +
             ", shape: " + list(column.shape.data(), static_cast<int64_t>(column.shape.size())) +
             ", offset: " + std::to_string(bytes_) + "}";
    bytes_ += static_cast<int64_t>(column.bytes.size());
  }
  return entry + "}";
}

int64_t GeometryFiles::finish(bool durable) {
  open_.reset();
  if (file_) file_->finish(durable);
  file_.reset();
  known_ = std::move(next_);
  next_.clear();
  return bytes_;
}

}  // namespace pillion::stages::write_raw

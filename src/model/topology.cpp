// SPDX-License-Identifier: BSD-3-Clause
// Copying, reading and checking cells.
#include "model/topology.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace pillion::model {

namespace {

// Numbers are those of VTK. Quadratic and Lagrange cells have curved faces; Lagrange cells of any
// order have any number of points. Up to order 2 these get the numbers of other types when they are
// shared.
constexpr std::array<CellType, 37> cell_types{{
    {1, "vertex", 0, 1, 1},
    {2, "poly vertex", 0, 0, 1},
    {3, "line", 1, 2, 2},
    {4, "poly line", 1, 0, 2},
    {5, "triangle", 2, 3, 3},
    {6, "triangle strip", 2, 0, 3},
    {7, "polygon", 2, 0, 3},
    {8, "pixel", 2, 4, 4},
    {9, "quad", 2, 4, 4},
    {10, "tetra", 3, 4, 4},
    {11, "voxel", 3, 8, 8},
    {12, "hexahedron", 3, 8, 8},
    {13, "wedge", 3, 6, 6},
    {14, "pyramid", 3, 5, 5},
    {15, "pentagonal prism", 3, 10, 10},
    {16, "hexagonal prism", 3, 12, 12},
    {21, "quadratic edge", 1, 3, 3},
    {22, "quadratic triangle", 2, 6, 6},
    {23, "quadratic quad", 2, 8, 8},
    {24, "quadratic tetra", 3, 10, 10},
    {25, "quadratic hexahedron", 3, 20, 20},
    {26, "quadratic wedge", 3, 15, 15},
    {27, "quadratic pyramid", 3, 13, 13},
    {28, "biquadratic quad", 2, 9, 9},
    {29, "triquadratic hexahedron", 3, 27, 27},
    {30, "quadratic linear quad", 2, 6, 6},
    {31, "quadratic linear wedge", 3, 12, 12},
    {32, "biquadratic quadratic wedge", 3, 18, 18},
    {33, "biquadratic quadratic hexahedron", 3, 24, 24},
    {34, "biquadratic triangle", 2, 7, 7},
    {polyhedron_type, "polyhedron", 3, 0, 4},
    {68, "lagrange curve", 1, 0, 2},
    {69, "lagrange triangle", 2, 0, 3},
    {70, "lagrange quadrilateral", 2, 0, 4},
    {71, "lagrange tetrahedron", 3, 0, 4},
    {72, "lagrange hexahedron", 3, 0, 8},
    {73, "lagrange wedge", 3, 0, 6},
}};

/// What comes first in the bytes: how many values each array has, in their order.
struct Sizes {
  int64_t cells = 0, points = 0, faces = -1, face_points = 0, polyhedron_faces = 0;
  int64_t has_ids = 0, has_parents = 0, has_patches = 0, has_flags = 0;
  int64_t owned = 0, least_points = 0;
};

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

/// Takes arrays from bytes, one after the other, each at a multiple of 8.
class Arrays {
 public:
  explicit Arrays(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  std::span<const T> take(int64_t count) {
    const size_t left = bytes_.size() - at_;
    if (count < 0 || static_cast<uint64_t>(count) > left / sizeof(T))
      base::fail(ErrorCode::Internal, "{} bytes of cells have an array of {} values after byte {}",
                 bytes_.size(), count, at_);
    const auto* begin = reinterpret_cast<const T*>(bytes_.data() + at_);
    at_ = std::min(at_ + padded(static_cast<size_t>(count) * sizeof(T)), bytes_.size());
    return {begin, static_cast<size_t>(count)};
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace

uint8_t plain_type(uint8_t vtk, int64_t points) {
  struct Same {
    uint8_t lagrange;
    int64_t points;
    uint8_t plain;
  };
  // Both have the same points in the same order.
  constexpr Same all[] = {{68, 2, 3},   {68, 3, 21}, {69, 3, 5},  {69, 6, 22},  {69, 7, 34},
                          {70, 4, 9},   {70, 9, 28}, {71, 4, 10}, {71, 10, 24}, {72, 8, 12},
                          {72, 27, 29}, {73, 6, 13}, {73, 18, 32}};
  for (const auto& same : all)
    if (same.lagrange == vtk && same.points == points) return same.plain;
  return vtk;
}

const CellType* find_cell_type(int vtk) {
  const auto at = std::find_if(cell_types.begin(), cell_types.end(),
                               [&](const CellType& type) { return type.vtk == vtk; });
  return at == cell_types.end() ? nullptr : &*at;
}

Topology read_topology(std::span<const std::byte> bytes) {
  Sizes sizes;
  if (bytes.size() < sizeof sizes)
    base::fail(ErrorCode::Internal, "{} bytes of cells are fewer than their sizes take",
               bytes.size());
  std::memcpy(&sizes, bytes.data(), sizeof sizes);
  // One more must be possible.
  constexpr int64_t most = int64_t{1} << 56;
  if (sizes.cells < 0 || sizes.cells > most || sizes.faces < -1 || sizes.faces > most)
    base::fail(ErrorCode::Internal, "a message has {} cells and {} faces of them", sizes.cells,
               sizes.faces);
  Arrays arrays(bytes.subspan(sizeof sizes));
  Topology out;
  out.owned = sizes.owned;
  out.least_points = sizes.least_points;
  out.offsets = arrays.take<int64_t>(sizes.cells + 1);
  out.points = arrays.take<int64_t>(sizes.points);
  if (sizes.faces >= 0) {
    out.face_offsets = arrays.take<int64_t>(sizes.faces + 1);
    out.face_points = arrays.take<int64_t>(sizes.face_points);
    out.polyhedron_offsets = arrays.take<int64_t>(sizes.cells + 1);
    out.polyhedron_faces = arrays.take<int64_t>(sizes.polyhedron_faces);
  }
  if (sizes.has_ids != 0) out.ids = arrays.take<int64_t>(sizes.cells);
  if (sizes.has_parents != 0) out.parents = arrays.take<int64_t>(sizes.cells);
  if (sizes.has_patches != 0) out.patches = arrays.take<int32_t>(sizes.cells);
  out.types = arrays.take<uint8_t>(sizes.cells);
  if (sizes.has_flags != 0) out.flags = arrays.take<uint8_t>(sizes.cells);
  return out;
}

namespace {

/// "" if offsets begin at 0, do not fall, and end where the array that they count in ends.
std::string fault_of_offsets(std::span<const int64_t> offsets, size_t end, const char* what) {
  if (offsets.front() != 0)
    return fmt::format("the first offset of {} is {}; it must be 0", what, offsets.front());
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    if (offsets[i + 1] < offsets[i])
      return fmt::format("offset {} of {} is {}, less than {} before it", i + 1, what,
                         offsets[i + 1], offsets[i]);
  if (offsets.back() != static_cast<int64_t>(end))
    return fmt::format("the last offset of {} is {}, but there are {} indices", what,
                       offsets.back(), end);
  return {};
}

std::string fault_of_point(const char* of, size_t number, int64_t point, int64_t points) {
  if (points == unknown_count)
    return fmt::format("{} {} has point {}; points are counted from 0", of, number, point);
  return fmt::format("{} {} has point {}, but the block has {} points, counted from 0", of, number,
                     point, points);
}

std::string fault_of_cell(const Topology& topology, size_t c, int64_t points, int dimensions) {
  const int vtk = topology.types[c];
  const auto* type = find_cell_type(vtk);
  if (type == nullptr) return fmt::format("cell {} has VTK's type {}, which is not known", c, vtk);
  if (type->dimensions > dimensions)
    return fmt::format("cell {} is a {} of {} dimensions, but the mesh has {}", c, type->name,
                       type->dimensions, dimensions);
  const int64_t count = topology.offsets[c + 1] - topology.offsets[c];
  if (type->points != 0 ? count != type->points : count < type->least)
    return fmt::format("cell {} is a {}, which has {}{} points, but {} are given", c, type->name,
                       type->points != 0 ? "" : "at least ",
                       type->points != 0 ? type->points : type->least, count);
  for (int64_t i = topology.offsets[c]; i < topology.offsets[c + 1]; ++i) {
    const int64_t point = topology.points[static_cast<size_t>(i)];
    if (point < 0 || point >= points) return fault_of_point("cell", c, point, points);
  }
  if (vtk != polyhedron_type) return {};
  const int64_t faces = topology.polyhedron_offsets.empty()
                            ? 0
                            : topology.polyhedron_offsets[c + 1] - topology.polyhedron_offsets[c];
  if (faces < 4)
    return fmt::format("cell {} is a polyhedron, which has at least 4 faces, but {} are given", c,
                       faces);
  return {};
}

std::string fault_of_faces(const Topology& topology, int64_t points) {
  if (topology.face_offsets.empty()) return {};
  if (auto fault = fault_of_offsets(topology.face_offsets, topology.face_points.size(), "faces");
      !fault.empty())
    return fault;
  if (auto fault = fault_of_offsets(topology.polyhedron_offsets, topology.polyhedron_faces.size(),
                                    "polyhedra");
      !fault.empty())
    return fault;
  for (size_t f = 0; f + 1 < topology.face_offsets.size(); ++f) {
    if (topology.face_offsets[f + 1] - topology.face_offsets[f] < 3)
      return fmt::format("face {} has {} points; a face has at least 3", f,
                         topology.face_offsets[f + 1] - topology.face_offsets[f]);
    for (int64_t i = topology.face_offsets[f]; i < topology.face_offsets[f + 1]; ++i) {
      const int64_t point = topology.face_points[static_cast<size_t>(i)];
      if (point < 0 || point >= points) return fault_of_point("face", f, point, points);
    }
  }
  for (size_t i = 0; i < topology.polyhedron_faces.size(); ++i)
    if (topology.polyhedron_faces[i] < 0 || topology.polyhedron_faces[i] >= topology.faces())
      return fmt::format("a polyhedron has face {}, but the block has {} faces, counted from 0",
                         topology.polyhedron_faces[i], topology.faces());
  return {};
}

}  // namespace

std::string fault_of(const Topology& topology, int64_t points, int dimensions, size_t patches) {
  if (auto fault = fault_of_offsets(topology.offsets, topology.points.size(), "cells");
      !fault.empty())
    return fault;
  if (auto fault = fault_of_faces(topology, points); !fault.empty()) return fault;
  for (size_t c = 0; c < topology.types.size(); ++c)
    if (auto fault = fault_of_cell(topology, c, points, dimensions); !fault.empty()) return fault;
  for (size_t c = 0; c < topology.patches.size(); ++c)
    if (topology.patches[c] < 0 || static_cast<size_t>(topology.patches[c]) >= patches)
      return fmt::format("cell {} is of patch {}, counted from 0, but the mesh has {} patches", c,
                         topology.patches[c], patches);
  return {};
}

namespace {

/// An array of indices of either type.
class Indices {
 public:
  Indices(const void* data, pillion_type type) : data_(data), is_short_(type == PILLION_INT32) {}
  [[nodiscard]] int64_t operator[](int64_t i) const {
    return is_short_ ? static_cast<const int32_t*>(data_)[i]
                     : static_cast<const int64_t*>(data_)[i];
  }
  [[nodiscard]] bool is_given() const { return data_ != nullptr; }

 private:
  const void* data_;
  bool is_short_;
};

void expect(bool is_given, const char* what) {
  if (!is_given) base::fail(ErrorCode::Sharing, "{} were not given", what);
}

/// The offset at the end: how many indices there are.
int64_t extent_of(const Indices& offsets, int64_t count, int32_t base, const char* what) {
  const int64_t end = offsets[count] - base;
  if (offsets[0] != base)
    base::fail(ErrorCode::Sharing, "the first offset of {} is {}; it must be {}", what, offsets[0],
               base);
  // Offsets that fall are found later; here nothing must be read that is not there.
  for (int64_t i = 0; i < count; ++i)
    if (offsets[i + 1] < offsets[i])
      base::fail(ErrorCode::Sharing, "offset {} of {} is {}, less than {} before it", i + 1, what,
                 offsets[i + 1], offsets[i]);
  return end;
}

class Writer {
 public:
  explicit Writer(base::Bytes& to) : to_(to) {}
  template <class T>
  std::span<T> add(int64_t count) {
    const size_t at = to_.size(), bytes = static_cast<size_t>(count) * sizeof(T);
    to_.resize(at + padded(bytes));
    return {reinterpret_cast<T*>(to_.data() + at), static_cast<size_t>(count)};
  }
  template <class T>
  void copy(const T* from, int64_t count) {
    const auto to = add<T>(count);
    if (count > 0) std::memcpy(to.data(), from, to.size_bytes());
  }
  void copy(const Indices& from, int64_t count, int64_t base) {
    const auto to = add<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) to[static_cast<size_t>(i)] = from[i] - base;
  }

 private:
  base::Bytes& to_;
};

/// Offsets of cells that all have as many points.
void write_offsets(Writer& out, int64_t cells, int64_t points) {
  const auto to = out.add<int64_t>(cells + 1);
  for (int64_t c = 0; c <= cells; ++c) to[static_cast<size_t>(c)] = c * points;
}

using IndexById = std::unordered_map<int64_t, int64_t>;

IndexById index_by_id(std::span<const int64_t> ids) {
  IndexById out;
  out.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) out.emplace(ids[i], static_cast<int64_t>(i));
  return out;
}

void write_points(Writer& out, const Indices& from, int64_t count, const pillion_cells& cells,
                  const IndexById& places) {
  if (cells.points_are_ids == 0) return out.copy(from, count, cells.base);
  const auto to = out.add<int64_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = places.find(from[i]);
    if (at == places.end())
      base::fail(ErrorCode::Sharing,
                 "index {} of the cells' points is the id {}, which no point of the block has; "
                 "share the points with their ids first",
                 i, from[i]);
    to[static_cast<size_t>(i)] = at->second;
  }
}

void check_given(const pillion_cells& cells) {
  if (cells.count < 0) base::fail(ErrorCode::Sharing, "{} cells were given", cells.count);
  if (cells.index_type != PILLION_INT32 && cells.index_type != PILLION_INT64)
    base::fail(ErrorCode::Sharing, "indices are of type {}; they must be int32 or int64",
               cells.index_type);
  if (cells.base != 0 && cells.base != 1)
    base::fail(ErrorCode::Sharing, "indices count from {}; they must count from 0 or 1",
               cells.base);
  if (cells.face_count < 0) base::fail(ErrorCode::Sharing, "{} faces were given", cells.face_count);
  if (cells.count == 0) return;
  expect(cells.points != nullptr, "the cells' points");
  if (cells.face_count == 0) return;
  expect(cells.face_offsets != nullptr, "offsets of faces");
  expect(cells.face_points != nullptr, "points of faces");
  expect(cells.polyhedron_offsets != nullptr, "offsets of polyhedra");
  expect(cells.polyhedron_faces != nullptr, "faces of polyhedra");
}

/// Points of each cell, if all are of one type; 0 if offsets define them.
int64_t points_of_each(const pillion_cells& cells) {
  if (cells.types != nullptr || cells.offsets != nullptr) {
    if (cells.count > 0) expect(cells.offsets != nullptr, "offsets of cells");
    return 0;
  }
  const auto* type = find_cell_type(cells.type);
  if (type == nullptr)
    base::fail(ErrorCode::Sharing, "cells are of VTK's type {}, which is not known", cells.type);
  if (type->points == 0)
    base::fail(ErrorCode::Sharing,
               "cells are of type {}, which has any number of points; give "
               "their offsets",
               type->name);
  return type->points;
}

}  // namespace

base::Bytes to_bytes(const pillion_cells& cells, std::span<const int64_t> point_ids) {
  check_given(cells);
  const int64_t count = cells.count, each = points_of_each(cells);
  const Indices offsets(cells.offsets, cells.index_type);
  const Indices face_offsets(cells.face_offsets, cells.index_type);
  const Indices polyhedron_offsets(cells.polyhedron_offsets, cells.index_type);
  const bool has_faces = cells.face_count > 0 && count > 0;
  Sizes sizes;
  sizes.cells = count;
  if (count > 0)
    sizes.points = each > 0 ? each * count : extent_of(offsets, count, cells.base, "cells");
  if (has_faces) {
    sizes.faces = cells.face_count;
    sizes.face_points = extent_of(face_offsets, cells.face_count, cells.base, "faces");
    sizes.polyhedron_faces = extent_of(polyhedron_offsets, count, cells.base, "polyhedra");
  }
  sizes.has_ids = cells.ids != nullptr ? 1 : 0;
  sizes.has_parents = cells.parents != nullptr ? 1 : 0;
  sizes.has_patches = cells.patches != nullptr ? 1 : 0;
  sizes.has_flags = cells.flags != nullptr ? 1 : 0;
  base::Bytes out;
  out.reserve(sizeof sizes +
              8 * static_cast<size_t>(4 * count + sizes.points + sizes.face_points +
                                      sizes.polyhedron_faces + std::max<int64_t>(sizes.faces, 0)));
  out.resize(sizeof sizes);
  Writer writer(out);
  const IndexById places = cells.points_are_ids != 0 ? index_by_id(point_ids) : IndexById();
  if (count == 0 || each > 0) write_offsets(writer, count, each);
  else writer.copy(offsets, count + 1, cells.base);
  write_points(writer, Indices(cells.points, cells.index_type), sizes.points, cells, places);
  if (has_faces) {
    writer.copy(face_offsets, cells.face_count + 1, cells.base);
    write_points(writer, Indices(cells.face_points, cells.index_type), sizes.face_points, cells,
                 places);
    writer.copy(polyhedron_offsets, count + 1, cells.base);
    writer.copy(Indices(cells.polyhedron_faces, cells.index_type), sizes.polyhedron_faces,
                cells.base);
  }
  if (cells.ids != nullptr) writer.copy(cells.ids, count);
  if (cells.parents != nullptr) writer.copy(cells.parents, count);
  if (cells.patches != nullptr) writer.copy(cells.patches, count);
  const auto types = writer.add<uint8_t>(count);
  if (cells.types != nullptr) std::copy_n(cells.types, count, types.begin());
  else std::fill(types.begin(), types.end(), static_cast<uint8_t>(cells.type));
  for (int64_t c = 0; c < count && each == 0; ++c) {
    auto& type = types[static_cast<size_t>(c)];
    type = plain_type(type, offsets[c + 1] - offsets[c]);
  }
  if (cells.flags != nullptr) writer.copy(cells.flags, count);
  std::memcpy(out.data(), &sizes, sizeof sizes);
  const auto topology = read_topology(out);
  sizes.owned = count - std::count_if(topology.flags.begin(), topology.flags.end(),
                                      [](uint8_t flags) { return flags != 0; });
  for (const auto& indices : {topology.points, topology.face_points})
    if (!indices.empty())
      sizes.least_points = std::max(sizes.least_points, *std::ranges::max_element(indices) + 1);
  std::memcpy(out.data(), &sizes, sizeof sizes);
  return out;
}

base::Bytes to_bytes(const CellLists& cells) {
  const auto data_of = [](const auto& values) { return values.empty() ? nullptr : values.data(); };
  pillion_cells out{};
  out.size = sizeof out;
  out.count = static_cast<int64_t>(cells.types.size());
  out.types = cells.types.data();
  out.index_type = PILLION_INT64;
  out.offsets = cells.offsets.data();
  out.points = cells.points.data();
  out.face_count = static_cast<int64_t>(cells.face_offsets.size()) - 1;
  out.face_offsets = cells.face_offsets.data();
  out.face_points = cells.face_points.data();
  out.polyhedron_offsets = cells.polyhedron_offsets.data();
  out.polyhedron_faces = cells.polyhedron_faces.data();
  out.flags = data_of(cells.flags);
  out.ids = data_of(cells.ids);
  out.parents = data_of(cells.parents);
  out.patches = data_of(cells.patches);
  return to_bytes(out, {});
}

}  // namespace pillion::model

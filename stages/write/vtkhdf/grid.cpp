// SPDX-License-Identifier: BSD-3-Clause
#include "grid.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "../../common/elements.hpp"

namespace pillion::stages::write_vtkhdf {
namespace {

constexpr uint8_t vertex = 1, quadrilateral = 9, hexahedron = 12, lagrange_quadrilateral = 70,
                  lagrange_hexahedron = 72;  // VTK's types of cells
constexpr int64_t no_id = -1;
constexpr const char* boxes_path = "/block_boxes";

/// Items number 0 to `count` of an array, components interleaved.
Source item_values(const stage::Array& array, int64_t count) {
  return [array, count](Bytes& memory) {
    const int64_t extent[3] = {count, 1, 1};
    if (!write::is_packed(array, extent)) {
      memory = write::close_packed(array, extent);
      return ByteSpan(memory);
    }
    return ByteSpan(static_cast<const std::byte*>(array.data),
                    static_cast<size_t>(count * array.components) * write::bytes_of(array.type));
  };
}

/// Values at the points of elements, whose components lie apart, interleaved; with zeros behind
/// them if each row is to have more numbers.
Source point_values(const stage::Array& array, int64_t elements, int64_t points,
                    int64_t numbers = 0) {
  return [array, elements, points, numbers](Bytes& memory) {
    const size_t size = write::bytes_of(array.type);
    const int64_t components = array.components / points;
    const auto row = static_cast<size_t>(std::max(numbers, components)) * size;
    memory.assign(static_cast<size_t>(elements * points) * row, std::byte{0});
    std::byte* to = memory.data();
    const auto* from = static_cast<const std::byte*>(array.data);
    for (int64_t e = 0; e < elements; ++e)
      for (int64_t p = 0; p < points; ++p, to += row)
        for (int64_t c = 0; c < components; ++c) {
          const int64_t at = e * array.strides[0] + (c * points + p) * array.strides[3];
          std::memcpy(to + static_cast<size_t>(c) * size, from + at * static_cast<int64_t>(size),
                      size);
        }
    return ByteSpan(memory);
  };
}

/// Each row of a source, of that many bytes, several times.
Source each_repeated(Source source, int64_t times, size_t row) {
  return [source = std::move(source), times, row](Bytes& memory) {
    Bytes once;
    const auto bytes = source(once);
    Bytes all(bytes.size() * static_cast<size_t>(times));
    std::byte* to = all.data();
    for (size_t at = 0; at < bytes.size(); at += row)
      for (int64_t n = 0; n < times; ++n, to += row) std::memcpy(to, bytes.data() + at, row);
    memory = std::move(all);
    return ByteSpan(memory);
  };
}

/// 0, step, 2 step, …: one more than cells.
Source offsets_of(int64_t cells, int64_t step) {
  return [cells, step](Bytes& memory) {
    memory.resize(static_cast<size_t>(cells + 1) * sizeof(int64_t));
    for (int64_t c = 0; c <= cells; ++c) {
      const int64_t at = c * step;
      std::memcpy(memory.data() + static_cast<size_t>(c) * sizeof at, &at, sizeof at);
    }
    return ByteSpan(memory);
  };
}

/// The nodes of the cells of all elements. Each element has its own points.
Source element_nodes(std::vector<int64_t> nodes, int64_t elements, int64_t points) {
  return [nodes = std::move(nodes), elements, points](Bytes& memory) {
    memory.resize(static_cast<size_t>(elements) * nodes.size() * sizeof(int64_t));
    std::byte* to = memory.data();
    for (int64_t e = 0; e < elements; ++e)
      for (const int64_t node : nodes) {
        const int64_t id = e * points + node;
        std::memcpy(to, &id, sizeof id);
        to += sizeof id;
      }
    return ByteSpan(memory);
  };
}

Source flag_values(const pillion_array* flags, int64_t count) {
  if (flags == nullptr) return repeated(count, uint8_t{0});
  return [flags, count](Bytes& memory) {
    memory.resize(static_cast<size_t>(count));
    for (int64_t c = 0; c < count; ++c)
      memory[static_cast<size_t>(c)] =
          static_cast<const std::byte*>(flags->data)[c * flags->strides[0]];
    return ByteSpan(memory);
  };
}

template <class T>
Source given_or(const T* values, int64_t count, T standard) {
  return values == nullptr ? repeated(count, standard) : lasting(values, count);
}

/// Node (i, j, k) of VTK's Lagrange hexahedron: the corners, then the inner nodes of the edges, of
/// the faces, and of the cell. n is one less than the order.
/// https://www.kitware.com/modeling-arbitrary-order-lagrange-finite-elements-in-the-visualization-toolkit
int64_t lagrange_node(int64_t i, int64_t j, int64_t k, int64_t n) {
  const bool i_ends = i == 0 || i == n + 1, j_ends = j == 0 || j == n + 1,
             k_ends = k == 0 || k == n + 1;
  const int64_t corner = i > 0 ? (j > 0 ? 2 : 1) : (j > 0 ? 3 : 0);  // around the face below
  switch (i_ends + j_ends + k_ends) {
    case 3: return corner + (k > 0 ? 4 : 0);
    case 2:
      if (!i_ends) return 8 + (i - 1) + (j > 0 ? 2 * n : 0) + (k > 0 ? 4 * n : 0);
      if (!j_ends) return 8 + (j - 1) + (i > 0 ? n : 3 * n) + (k > 0 ? 4 * n : 0);
      return 8 + 8 * n + (k - 1) + n * corner;
    case 1: {
      const int64_t first = 8 + 12 * n;
      if (i_ends) return first + (j - 1) + n * (k - 1) + (i > 0 ? n * n : 0);
      if (j_ends) return first + 2 * n * n + (i - 1) + n * (k - 1) + (j > 0 ? n * n : 0);
      return first + 4 * n * n + (i - 1) + n * (j - 1) + (k > 0 ? n * n : 0);
    }
    default: return 8 + 12 * n + 6 * n * n + (i - 1) + n * ((j - 1) + n * (k - 1));
  }
}

/// Node (i, j) of VTK's Lagrange quadrilateral, in the same order.
int64_t flat_lagrange_node(int64_t i, int64_t j, int64_t n) {
  const bool i_ends = i == 0 || i == n + 1, j_ends = j == 0 || j == n + 1;
  if (i_ends && j_ends) return i > 0 ? (j > 0 ? 2 : 1) : (j > 0 ? 3 : 0);
  if (j_ends) return 4 + (i - 1) + (j > 0 ? 2 * n : 0);
  if (i_ends) return 4 + (j - 1) + (i > 0 ? n : 3 * n);
  return 4 + 4 * n + (i - 1) + n * (j - 1);
}

}  // namespace

std::vector<int64_t> lagrange_nodes(int32_t order, int32_t axes) {
  const int64_t n = order + 1;
  if (axes == 2) {
    std::vector<int64_t> out(static_cast<size_t>(n * n));
    for (int64_t p = 0; p < n * n; ++p)
      out[static_cast<size_t>(flat_lagrange_node(p % n, p / n, n - 2))] = p;
    return out;
  }
  std::vector<int64_t> out(static_cast<size_t>(n * n * n));
  for (int64_t p = 0; p < n * n * n; ++p)
    out[static_cast<size_t>(lagrange_node(p % n, p / n % n, p / (n * n), n - 2))] = p;
  return out;
}

std::vector<int64_t> split_nodes(int32_t order, int32_t axes) {
  const int64_t n = order + 1;
  const int64_t corners[] = {0, 1, 1 + n, n, n * n, n * n + 1, n * n + n + 1, n * n + n};
  const std::span<const int64_t> of_cell = std::span(corners).first(axes == 2 ? 4 : 8);
  std::vector<int64_t> out;
  for (int64_t k = 0; k < (axes == 2 ? 1 : order); ++k)
    for (int64_t j = 0; j < order; ++j)
      for (int64_t i = 0; i < order; ++i)
        for (const int64_t corner : of_cell) out.push_back(i + n * (j + n * k) + corner);
  return out;
}

void GridParts::look_at(const stage::Block& block) {
  const auto* of = block.raw().connectivity;
  flags = flags || block.raw().flags != nullptr;
  if (of == nullptr) return;
  polyhedra = polyhedra || of->face_count > 0;
  cell_ids = cell_ids || of->cell_ids != nullptr;
  point_ids = point_ids || of->point_ids != nullptr;
  parents = parents || of->parents != nullptr;
  patches = patches || of->patches != nullptr;
}

Grid::Grid(const Wanted& wanted, const GridParts& parts) : wanted_(wanted), has_(parts) {
  for (const char* name :
       {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds", "Offsets", "Connectivity"})
    make(name, PILLION_INT64);
  make("Types", PILLION_UINT8);
  make("Points", wanted.place_type, {3});
  if (has_.polyhedra)
    for (const char* name :
         {"NumberOfFaces", "NumberOfFaceConnectivityIds", "NumberOfPolyhedronToFaceIds",
          "FaceConnectivity", "FaceOffsets", "PolyhedronToFaces", "PolyhedronOffsets"})
      make(name, PILLION_INT64);
  for (size_t f = 0; f < wanted.names.size(); ++f)
    if (static_cast<int32_t>(f) != wanted.places)
      datasets_.push_back(dataset_of("/VTKHDF/" + path_of(f), wanted.fields[f]));
  if (wanted.mesh().mesh_kind == PILLION_CURVILINEAR ||
      has_boxes(wanted.mesh()))  // beside what is VTK's
    datasets_.push_back(
        {.path = boxes_path, .element = PILLION_INT64, .row = {2, wanted.mesh().axes}});
  if (has_.flags) make("CellData/vtkGhostType", PILLION_UINT8);
  if (has_.patches) make("CellData/patch", PILLION_INT32);
  if (has_.parents) make("CellData/parent", PILLION_INT64);
  for (const bool of_cells : {true, false})
    if (of_cells ? has_.cell_ids : has_.point_ids) {
      make(of_cells ? "CellData/GlobalCellIds" : "PointData/GlobalPointIds", PILLION_INT64);
      datasets_.back().role = "GlobalIds";
    }
}

std::string Grid::path_of(size_t field) const {
  const auto& of = wanted_.fields[field];
  const bool at_points = of.mesh_kind == PILLION_PARTICLES || of.centering == PILLION_POINT;
  return (at_points ? "PointData/" : "CellData/") + wanted_.names[field];
}

void Grid::make(const std::string& name, pillion_type element, std::vector<int64_t> row) {
  datasets_.push_back({.path = "/VTKHDF/" + name, .element = element, .row = std::move(row)});
}

void Grid::add(const std::string& name, int64_t count, Source source) {
  for (auto& of : datasets_)
    if (of.path == name || of.path == "/VTKHDF/" + name)
      return of.pieces.push_back({count, std::move(source)});
  throw Error(ErrorCode::Internal, "a grid has no dataset " + name);
}

void Grid::add_number(const std::string& name, int64_t value) {
  add(name, 1, listed(std::vector<int64_t>{value}));
}

void Grid::add_part(int64_t points, int64_t cells, int64_t ids) {
  ++part_count_;
  add_number("NumberOfPoints", points);
  add_number("NumberOfCells", cells);
  add_number("NumberOfConnectivityIds", ids);
}

void Grid::add_nothing() {
  add_part(0, 0, 0);
  add("Offsets", 1, offsets_of(0, 0));
}

void Grid::add_particles(const stage::Block& block) {
  const int64_t count = block.owned();
  add_part(count, count, count);
  add("Offsets", count + 1, counted(count + 1));
  add("Connectivity", count, counted(count));
  add("Types", count, repeated(count, vertex));
  add("Points", count, item_values(block[wanted_.places], count));
  for (int32_t f = 0; f < static_cast<int32_t>(wanted_.names.size()); ++f)
    if (f != wanted_.places)
      add(path_of(static_cast<size_t>(f)), count, item_values(block[f], count));
}

void Grid::add_elements(const stage::Block& block) {
  const auto order = wanted_.mesh().order, axes = wanted_.mesh().axes;
  const int64_t elements = block.owned(), along = order + 1;
  const int64_t points = along * along * (axes == 2 ? 1 : along);
  const int64_t pieces = wanted_.is_split ? int64_t{order} * order * (axes == 2 ? 1 : order) : 1;
  auto nodes = wanted_.is_split ? split_nodes(order, axes) : lagrange_nodes(order, axes);
  const uint8_t type = wanted_.is_split
                           ? (axes == 2 ? quadrilateral : hexahedron)
                           : (axes == 2 ? lagrange_quadrilateral : lagrange_hexahedron);
  const auto ids = static_cast<int64_t>(nodes.size());
  add_part(elements * points, elements * pieces, elements * ids);
  add("Offsets", elements * pieces + 1, offsets_of(elements * pieces, ids / pieces));
  add("Connectivity", elements * ids, element_nodes(std::move(nodes), elements, points));
  add("Types", elements * pieces, repeated(elements * pieces, type));
  add("Points", elements * points, point_values(block[wanted_.places], elements, points, 3));
  for (size_t f = 0; f < wanted_.names.size(); ++f) {
    if (static_cast<int32_t>(f) == wanted_.places) continue;
    const auto array = block[static_cast<int32_t>(f)];
    const size_t row = static_cast<size_t>(array.components) * write::bytes_of(array.type);
    if (wanted_.fields[f].centering == PILLION_POINT)
      add(path_of(f), elements * points, point_values(array, elements, points));
    else
      add(path_of(f), elements * pieces, each_repeated(item_values(array, elements), pieces, row));
  }
}

namespace {

/// Points of a curvilinear block, with three coordinates each.
Source curved_points(const stage::Array& array, const std::array<int64_t, 3>& points) {
  return [array, points](Bytes& memory) {
    const size_t size = write::bytes_of(array.type);
    memory.assign(static_cast<size_t>(3 * points[0] * points[1] * points[2]) * size, std::byte{0});
    std::byte* to = memory.data();
    const auto* from = static_cast<const std::byte*>(array.data);
    for (int64_t k = 0; k < points[2]; ++k)
      for (int64_t j = 0; j < points[1]; ++j)
        for (int64_t i = 0; i < points[0]; ++i, to += 3 * size)
          for (int64_t c = 0; c < array.components; ++c) {
            const int64_t at = i * array.strides[0] + j * array.strides[1] + k * array.strides[2] +
                               c * array.strides[3];
            std::memcpy(to + static_cast<size_t>(c) * size, from + at * static_cast<int64_t>(size),
                        size);
          }
    return ByteSpan(memory);
  };
}

/// Corners of the cells of a rectilinear block, with three coordinates each.
Source rectilinear_points(const pillion_mesh& mesh, const stage::Block& block) {
  std::array<std::vector<double>, 3> faces{{{0}, {0}, {0}}};
  for (int32_t d = 0; d < mesh.axes; ++d)
    faces[static_cast<size_t>(d)] = {mesh.coordinates[d] + block.lo()[d],
                                     mesh.coordinates[d] + block.hi()[d] + 1};
  return [faces = std::move(faces)](Bytes& memory) {
    std::vector<double> out;
    for (const double z : faces[2])
      for (const double y : faces[1])
        for (const double x : faces[0]) out.insert(out.end(), {x, y, z});
    const auto bytes = std::as_bytes(std::span(out));
    memory.assign(bytes.begin(), bytes.end());
    return ByteSpan(memory);
  };
}

/// Quadrilaterals, or hexahedra, of VTK's between the points of a box of cells.
std::vector<int64_t> curved_nodes(const std::array<int64_t, 3>& cells, int32_t axes) {
  const int64_t row = cells[0] + 1, plane = row * (cells[1] + 1);
  std::vector<int64_t> out;
  for (int64_t k = 0; k < cells[2]; ++k)
    for (int64_t j = 0; j < cells[1]; ++j)
      for (int64_t i = 0; i < cells[0]; ++i)
        for (int64_t up = 0; up < (axes == 3 ? 2 : 1); ++up) {
          const int64_t first = i + row * j + plane * (k + up);
          out.insert(out.end(), {first, first + 1, first + row + 1, first + row});
        }
  return out;
}

}  // namespace

void Grid::add_box(const pillion_mesh& mesh, const stage::Block& block) {
  const int32_t axes = wanted_.mesh().axes;
  std::array<int64_t, 3> cells{1, 1, 1}, points{1, 1, 1};
  for (int d = 0; d < axes; ++d) {
    const auto axis = static_cast<size_t>(d);
    cells[axis] = block.hi()[d] - block.lo()[d];
    points[axis] = cells[axis] + 1;
  }
  const int64_t cell_count = cells[0] * cells[1] * cells[2];
  const int64_t point_count = points[0] * points[1] * points[2];
  const int64_t corners = axes == 3 ? 8 : 4;
  add_part(point_count, cell_count, corners * cell_count);
  add("Offsets", cell_count + 1, offsets_of(cell_count, corners));
  add("Connectivity", corners * cell_count, listed(curved_nodes(cells, axes)));
  add("Types", cell_count, repeated(cell_count, axes == 3 ? hexahedron : quadrilateral));
  std::vector<int64_t> ends(block.lo(), block.lo() + axes);
  ends.insert(ends.end(), block.hi(), block.hi() + axes);
  add(boxes_path, 1, listed(std::move(ends)));
  add("Points", point_count,
      mesh.kind == PILLION_RECTILINEAR ? rectilinear_points(mesh, block)
                                       : curved_points(block.coordinates(), points));
  for (size_t f = 0; f < wanted_.names.size(); ++f) {
    const bool at_points = wanted_.fields[f].centering == PILLION_POINT;
    int64_t end[3] = {block.hi()[0], block.hi()[1], block.hi()[2]};
    for (int d = 0; d < axes && at_points; ++d) ++end[d];
    add(path_of(f), at_points ? point_count : cell_count,
        box_values(block, static_cast<int32_t>(f), block.lo(), end));
  }
  if (has_.flags)
    add("CellData/vtkGhostType", cell_count, flag_values(block.raw().flags, cell_count));
}

void Grid::add_cells(const stage::Block& block) {
  const auto& raw = block.raw();
  const auto& of = *raw.connectivity;
  const int64_t cells = raw.cells.total, points = raw.points.total;
  const int64_t ids = cells > 0 ? of.offsets[cells] : 0;
  add_part(points, cells, ids);
  add("Offsets", cells + 1, cells > 0 ? lasting(of.offsets, cells + 1) : offsets_of(0, 0));
  add("Connectivity", ids, lasting(of.points, ids));
  add("Types", cells, lasting(of.types, cells));
  add("Points", points, item_values(stage::array_of(*raw.coordinates), points));
  if (has_.polyhedra) add_polyhedra(of, cells);
  for (size_t f = 0; f < wanted_.names.size(); ++f) {
    const bool at_points = wanted_.fields[f].centering == PILLION_POINT;
    const int64_t count = at_points ? points : cells;
    add(path_of(f), count, item_values(block[static_cast<int32_t>(f)], count));
  }
  add_ids(block);
}

/// A part without polyhedra has no faces, and begins none in any cell.
void Grid::add_polyhedra(const pillion_connectivity& of, int64_t cells) {
  const int64_t faces = of.face_count;
  const int64_t ids = faces > 0 ? of.face_offsets[faces] : 0;
  const int64_t uses = faces > 0 ? of.polyhedron_offsets[cells] : 0;
  add_number("NumberOfFaces", faces);
  add_number("NumberOfFaceConnectivityIds", ids);
  add_number("NumberOfPolyhedronToFaceIds", uses);
  add("FaceConnectivity", ids, lasting(of.face_points, ids));
  add("FaceOffsets", faces + 1, faces > 0 ? lasting(of.face_offsets, faces + 1) : offsets_of(0, 0));
  add("PolyhedronToFaces", uses, lasting(of.polyhedron_faces, uses));
  add("PolyhedronOffsets", cells + 1,
      faces > 0 ? lasting(of.polyhedron_offsets, cells + 1) : offsets_of(cells, 0));
}

void Grid::add_ids(const stage::Block& block) {
  const auto& raw = block.raw();
  const auto& of = *raw.connectivity;
  const int64_t cells = raw.cells.total, points = raw.points.total;
  if (has_.flags) add("CellData/vtkGhostType", cells, flag_values(raw.flags, cells));
  if (has_.patches)
    add("CellData/patch", cells, given_or(of.patches, cells, static_cast<int32_t>(no_id)));
  if (has_.parents) add("CellData/parent", cells, given_or(of.parents, cells, no_id));
  if (has_.cell_ids) add("CellData/GlobalCellIds", cells, given_or(of.cell_ids, cells, no_id));
  if (has_.point_ids)
    add("PointData/GlobalPointIds", points, given_or(of.point_ids, points, no_id));
}

Content grid_content(const stage::Step& step, const Wanted& wanted) {
  GridParts parts;
  for (int32_t b = 0; b < step.block_count(wanted.input); ++b)
    parts.look_at(step.block(wanted.input, b));
  auto numbers = parts.as_numbers();
  step.max(std::span<int64_t>(numbers));
  parts = GridParts::of_numbers(numbers);
  Grid grid(wanted, parts);
  const auto kind = wanted.mesh().mesh_kind;
  for (int32_t b = 0; b < step.block_count(wanted.input); ++b) {
    const auto block = step.block(wanted.input, b);
    if (kind != PILLION_UNSTRUCTURED && block.owned() == 0) continue;
    if (kind == PILLION_UNSTRUCTURED && block.raw().points.total == 0) continue;
    if (kind == PILLION_PARTICLES) grid.add_particles(block);
    else if (kind == PILLION_SPECTRAL) grid.add_elements(block);
    else if (kind != PILLION_UNSTRUCTURED) grid.add_box(step.mesh(wanted.mesh().mesh), block);
    else grid.add_cells(block);
  }
  auto all = static_cast<int64_t>(grid.parts());
  step.sum(std::span(&all, 1));
  if (all == 0 && step.peer() == 0) grid.add_nothing();
  Content content;
  put_head(content, "UnstructuredGrid", parts.polyhedra ? 2 : 1, parts.polyhedra ? 5 : 0);
  content.datasets = grid.take();
  if (wanted.places >= 0 && wanted.places < static_cast<int32_t>(wanted.names.size()))
    content.links.push_back(
        {"/VTKHDF/PointData/" + wanted.names[static_cast<size_t>(wanted.places)],
         "/VTKHDF/Points"});
  const auto& mesh = step.mesh(wanted.mesh().mesh);
  for (int32_t a = 0; a < mesh.axes && mesh.kind == PILLION_RECTILINEAR; ++a) {
    std::vector<double> faces(mesh.coordinates[a], mesh.coordinates[a] + mesh.cells[a] + 1);
    Dataset of{.path = std::string("/") + "xyz"[a] + "_faces", .total = mesh.cells[a] + 1};
    if (step.peer() == 0) of.pieces.push_back({of.total, listed(std::move(faces)), 0});
    content.datasets.push_back(std::move(of));
  }
  if (parts.patches) {
    std::vector<std::string> names(mesh.patches, mesh.patches + mesh.patch_count);
    content.texts.push_back({"/VTKHDF/FieldData/patch_names", std::move(names)});
  }
  return content;
}

}  // namespace pillion::stages::write_vtkhdf

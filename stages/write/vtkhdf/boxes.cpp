// SPDX-License-Identifier: BSD-3-Clause
// Meshes of boxes. VTK has three dimensions; a mesh with fewer axes is flat, or, with levels, one
// cell thick.
#include <algorithm>
#include <array>

#include "../../common/cells.hpp"
#include "meshes.hpp"

namespace pillion::stages::write_vtkhdf {

Source box_values(const stage::Block& block, int32_t field, const int64_t* lo, const int64_t* hi) {
  auto array = block[field];
  int64_t offset = 0;
  std::array<int64_t, 3> extent{};
  for (size_t d = 0; d < 3; ++d) {
    extent[d] = hi[d] - lo[d];
    offset += (lo[d] - block.lo()[d]) * array.strides[d];
  }
  array.data = static_cast<const std::byte*>(array.data) +
               offset * static_cast<int64_t>(write::bytes_of(array.type));
  return [array, extent](Bytes& memory) {
    const int64_t all[3] = {extent[0], extent[1], extent[2]};
    if (!write::is_packed(array, all)) {
      memory = write::close_packed(array, all);
      return ByteSpan(memory);
    }
    const auto count = static_cast<size_t>(all[0] * all[1] * all[2] * array.components);
    return ByteSpan(static_cast<const std::byte*>(array.data), count * write::bytes_of(array.type));
  };
}

namespace {

bool is_rectilinear(const pillion_mesh& mesh) { return mesh.coordinates[0] != nullptr; }

/// The corner of a uniform mesh and the sides of its cells, in three dimensions. A side that the
/// mesh lacks is as long as the first.
struct Spacing {
  std::vector<double> origin{0, 0, 0}, side{0, 0, 0};

  Spacing(const pillion_mesh& mesh, int32_t level) {
    for (int32_t a = 0; a < 3; ++a) {
      const auto d = static_cast<size_t>(a);
      if (a < mesh.axes) origin[d] = mesh.origin[a];
      double cells = static_cast<double>(mesh.cells[a]);
      for (int32_t l = 0; a < mesh.axes && l < level; ++l) cells *= mesh.ratios[3 * l + a];
      side[d] = a < mesh.axes ? mesh.length[a] / cells
                              : mesh.length[0] / static_cast<double>(mesh.cells[0]);
    }
  }
};

/// Of cells, or of points in the middle of them.
void put_image(Content& content, const pillion_mesh& mesh, bool in_middle) {
  Spacing spacing(mesh, 0);
  std::vector<int64_t> extent(6);
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    extent[2 * a + 1] = mesh.cells[a] - (in_middle ? 1 : 0);
    if (in_middle) spacing.origin[a] += spacing.side[a] / 2;
  }
  put_head(content, "ImageData", 1, 0);
  content.attributes.push_back({"/VTKHDF", "WholeExtent", extent});
  content.attributes.push_back({"/VTKHDF", "Origin", spacing.origin});
  content.attributes.push_back({"/VTKHDF", "Spacing", spacing.side});
  content.attributes.push_back(
      {"/VTKHDF", "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}});
}

void put_rectilinear(Content& content, const pillion_mesh& mesh, bool is_first) {
  put_head(content, "RectilinearGrid", 2, 7);
  std::vector<int64_t> points{1, 1, 1};
  for (int32_t a = 0; a < 3; ++a) {
    std::vector<double> faces{0};
    if (a < mesh.axes) faces.assign(mesh.coordinates[a], mesh.coordinates[a] + mesh.cells[a] + 1);
    const auto count = static_cast<int64_t>(faces.size());
    points[static_cast<size_t>(a)] = count;
    Dataset of{.path = std::string("/VTKHDF/") + "XYZ"[a] + "Coordinates", .total = count};
    if (a < mesh.axes) of.units = length_units(mesh, a);
    if (is_first) of.pieces.push_back({count, listed(std::move(faces)), 0});
    content.datasets.push_back(std::move(of));
  }
  content.attributes.push_back({"/VTKHDF", "Dimensions", points});
}

/// The values of a block as runs that are contiguous in the file, which has `extent` values along
/// each axis. A point belongs to the block whose cells begin there, so that each is written once.
void put_runs(Dataset& of, const stage::Block& block, int32_t field, const int64_t (&extent)[3],
              bool at_points) {
  int64_t lo[3], hi[3];
  for (int d = 0; d < 3; ++d) {
    lo[d] = block.lo()[d];
    hi[d] = block.hi()[d];
    if (lo[d] >= hi[d]) return;
    if (at_points && hi[d] + 1 == extent[d]) ++hi[d];
  }
  // Axes before this one are whole in the block.
  int axis = 0;
  while (axis < 2 && lo[axis] == 0 && hi[axis] == extent[axis]) ++axis;
  const int64_t end[3] = {hi[0], hi[1], hi[2]}, begin[3] = {lo[0], lo[1], lo[2]};
  const int64_t count =
      (axis > 0 ? extent[0] : 1) * (axis > 1 ? extent[1] : 1) * (end[axis] - begin[axis]);
  for (lo[2] = begin[2]; lo[2] < end[2]; axis == 2 ? lo[2] = end[2] : ++lo[2])
    for (lo[1] = begin[1]; lo[1] < end[1]; axis >= 1 ? lo[1] = end[1] : ++lo[1]) {
      hi[2] = axis == 2 ? end[2] : lo[2] + 1;
      hi[1] = axis >= 1 ? end[1] : lo[1] + 1;
      const int64_t first = lo[0] + extent[0] * (lo[1] + extent[1] * lo[2]);
      of.pieces.push_back({count, box_values(block, field, lo, hi), first});
    }
}

}  // namespace

Content structured_content(const stage::Step& step, const Wanted& wanted) {
  Content content;
  const auto& mesh = step.mesh(wanted.mesh().mesh);
  if (is_rectilinear(mesh)) put_rectilinear(content, mesh, step.peer() == 0);
  else put_image(content, mesh, wanted.in_middle);
  const int32_t last = mesh.axes - 1;
  const bool as_shared = wanted.has_points();
  for (size_t f = 0; f < wanted.names.size(); ++f) {
    const auto& field = wanted.fields[f];
    const bool at_points = field.centering == PILLION_POINT;
    auto of =
        dataset_of((wanted.in_middle || at_points ? "/VTKHDF/PointData/" : "/VTKHDF/CellData/") +
                       wanted.names[f],
                   field);
    int64_t extent[3] = {1, 1, 1};
    for (int32_t a = 0; a <= last; ++a) extent[a] = mesh.cells[a] + (at_points ? 1 : 0);
    if (as_shared) of.in_runs = of.row_bytes();
    of.total = extent[last];
    for (int32_t a = 0; a < last; ++a) of.row.insert(of.row.begin(), extent[a]);
    for (int32_t b = 0; b < step.block_count(wanted.input); ++b) {
      const auto block = step.block(wanted.input, b);
      if (as_shared) {
        put_runs(of, block, static_cast<int32_t>(f), extent, at_points);
        continue;
      }
      const int64_t first = block.lo()[last], count = block.hi()[last] - first;
      of.pieces.push_back(
          {count, box_values(block, static_cast<int32_t>(f), block.lo(), block.hi()), first});
    }
    content.datasets.push_back(std::move(of));
  }
  return content;
}

namespace {

/// Flags of a block's own cells; 0 of all if it has none.
Source box_flags(const stage::Block& block, int64_t count) {
  const auto* flags = block.raw().flags;
  if (flags == nullptr) return repeated(count, uint8_t{0});
  return [raw = block.raw(), flags](Bytes& memory) {
    memory.clear();
    const auto* from = static_cast<const std::byte*>(flags->data);
    int64_t at[3];
    const auto within = [&](int d) { return (at[d] - raw.allocated.lo[d]) * flags->strides[d]; };
    for (at[2] = raw.valid.lo[2]; at[2] < raw.valid.hi[2]; ++at[2])
      for (at[1] = raw.valid.lo[1]; at[1] < raw.valid.hi[1]; ++at[1])
        for (at[0] = raw.valid.lo[0]; at[0] < raw.valid.hi[0]; ++at[0])
          memory.push_back(from[within(0) + within(1) + within(2)]);
    return ByteSpan(memory);
  };
}

/// VTK's corners are those of cells, both of them within.
std::vector<int32_t> amr_box(const stage::Block& block) {
  std::vector<int32_t> out;
  for (int d = 0; d < 3; ++d) {
    out.push_back(static_cast<int32_t>(block.inner_lo()[d]));
    out.push_back(static_cast<int32_t>(block.inner_hi()[d] - 1));
  }
  return out;
}

/// The datasets of a level, in the order in which add_box() expects them.
std::vector<Dataset> level_datasets(const std::string& group, const Wanted& wanted) {
  std::vector<Dataset> out;
  out.push_back({.path = group + "/AMRBox", .element = PILLION_INT32, .row = {6}});
  out.push_back({.path = group + "/CellData/vtkGhostType", .element = PILLION_UINT8});
  for (size_t f = 0; f < wanted.names.size(); ++f)
    out.push_back(dataset_of(group + "/CellData/" + wanted.names[f], wanted.fields[f]));
  return out;
}

void add_box(std::vector<Dataset>& level, const stage::Block& block) {
  const auto* lo = block.inner_lo();
  const auto* hi = block.inner_hi();
  const int64_t cells = (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
  if (lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2]) return;
  level[0].pieces.push_back({1, listed(amr_box(block))});
  level[1].pieces.push_back({cells, box_flags(block, cells)});
  for (int32_t f = 0; f < block.array_count(); ++f)
    level[static_cast<size_t>(f) + 2].pieces.push_back({cells, box_values(block, f, lo, hi)});
}

}  // namespace

Content levels_content(const stage::Step& step, const Wanted& wanted) {
  Content content;
  const auto& mesh = step.mesh(wanted.mesh().mesh);
  put_head(content, "OverlappingAMR", 1, 0);
  content.attributes.push_back({"/VTKHDF", "GridDescription", std::string("XYZ")});
  content.attributes.push_back({"/VTKHDF", "Origin", Spacing(mesh, 0).origin});
  int64_t levels = 1;
  for (int32_t b = 0; b < step.block_count(wanted.input); ++b)
    levels = std::max<int64_t>(levels, step.block(wanted.input, b).level() + 1);
  step.max(std::span(&levels, 1));
  for (int32_t l = 0; l < levels; ++l) {
    const auto group = "/VTKHDF/Level" + std::to_string(l);
    auto datasets = level_datasets(group, wanted);
    auto side = Spacing(mesh, l).side;
    content.attributes.push_back({group, "Spacing", std::move(side)});
    for (int32_t b = 0; b < step.block_count(wanted.input); ++b)
      if (const auto block = step.block(wanted.input, b); block.level() == l)
        add_box(datasets, block);
    std::move(datasets.begin(), datasets.end(), std::back_inserter(content.datasets));
  }
  return content;
}

}  // namespace pillion::stages::write_vtkhdf

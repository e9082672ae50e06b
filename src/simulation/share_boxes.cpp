// SPDX-License-Identifier: BSD-3-Clause
// Boxes of cells, with or without ghost cells around them, as the program has their arrays.
#include "model/view.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

using model::Box;
using model::MeshKind;

bool Sharing::put_box(const model::Field& field, const int64_t* lo, const int64_t* hi,
                      Where& where) {
  const auto& mesh = catalogue_.mesh(field.mesh);
  if (where.level < 0 || where.level >= mesh.levels()) {
    fault(field.name, where.block,
          fmt::format("block {} of field '{}' was shared on level {}, but mesh '{}' has {} level{}",
                      where.block, field.name, where.level, mesh.name, mesh.levels(),
                      mesh.levels() == 1 ? "" : "s, counted from 0"));
    return false;
  }
  const auto cells = model::cells_of_level(mesh, where.level);
  const auto& ratio = where.level > 0 ? mesh.ratios[static_cast<size_t>(where.level - 1)]
                                      : std::array<int64_t, 3>{1, 1, 1};
  bool inside = true, whole = true;
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    where.box.lo[a] = lo[a];
    where.box.hi[a] = hi[a];
    inside = inside && lo[a] >= 0 && lo[a] <= hi[a] && hi[a] <= cells[a];
    whole = whole && lo[a] % ratio[a] == 0 && hi[a] % ratio[a] == 0;
  }
  if (inside && whole) return true;
  const std::string of_level = mesh.levels() == 1 ? "" : fmt::format("level {} of ", where.level);
  const std::string box = model::to_string(where.box, mesh.axes);
  if (!inside)
    fault(field.name, where.block,
          fmt::format("block {} of field '{}' was shared as box {}, which does not lie in "
                      "{}mesh '{}' of {}",
                      where.block, field.name, box, of_level, mesh.name,
                      model::to_string({{0, 0, 0}, cells}, mesh.axes)));
  else
    fault(field.name, where.block,
          fmt::format("block {} of field '{}' was shared as box {} of {}mesh '{}', which does not "
                      "begin and end where cells of level {} do; its bounds must be multiples of "
                      "the ratio {}",
                      where.block, field.name, box, of_level, mesh.name, where.level - 1,
                      fmt::join(ratio.begin(), ratio.begin() + mesh.axes, " x ")));
  return false;
}

bool Sharing::put_axes(const model::Field& field, int32_t axes, const int64_t* lo,
                       const int64_t* hi, Where& where) {
  const auto& mesh = catalogue_.mesh(field.mesh);
  if (axes == mesh.axes) return put_box(field, lo, hi, where);
  fault(field.name, where.block,
        fmt::format("block {} of field '{}' was shared with {} indices, but mesh '{}' has {} axes",
                    where.block, field.name, axes, mesh.name, mesh.axes));
  return false;
}

model::Array Sharing::array_in(const model::Field& field, const Box& box,
                               int32_t components) const {
  const auto& mesh = catalogue_.mesh(field.mesh);
  model::Array array{nullptr, field.type, field.components};
  model::set_point_extents(model::point_axes_of(mesh, field), box, array);
  array.strides = model::packed_strides(model::box_of(array, box), components);
  return array;
}

std::array<int64_t, 3> Sharing::extents_in(const model::Field& field, const Box& box) const {
  const Box all = model::box_of(array_in(field, box, 1), box);
  return {all.extent(0), all.extent(1), all.extent(2)};
}

void Sharing::put_array(const model::Field& field, const Where& where, const void* data,
                        const int64_t* strides) {
  if (data == nullptr && where.box.volume() != 0)
    return fault(
        field.name, where.block,
        fmt::format("block {} of field '{}' was shared without memory", where.block, field.name));
  auto array = array_in(field, where.box, field.components);
  array.data = data;
  const auto axes = static_cast<size_t>(catalogue_.mesh(field.mesh).axes);
  if (strides != nullptr) {
    std::copy_n(strides, axes, array.strides.begin());
    array.strides[3] = strides[axes];
  }
  put(field.name, where, array);
}

void Sharing::share_box(const std::string& name, int32_t level, int32_t block, const int64_t* lo,
                        const int64_t* hi, const void* data, pillion_type type,
                        const int64_t* strides) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, type);
  if (field == nullptr) return;
  Where where{level, block};
  if (put_box(*field, lo, hi, where)) put_array(*field, where, data, strides);
}

bool Sharing::add_ghosts(const model::Field& field, const Where& where, const int64_t* ghosts,
                         std::array<int64_t, 3>& extents) {
  const auto axes = static_cast<size_t>(catalogue_.mesh(field.mesh).axes);
  for (size_t a = 0; a < axes && ghosts != nullptr; ++a) {
    if (ghosts[a] < 0) {
      fault(field.name, where.block,
            fmt::format("block {} of field '{}' was shared with {} ghost cells along axis {}; give "
                        "0 or more, the number at each end",
                        where.block, field.name, ghosts[a], "xyz"[a]));
      return false;
    }
    extents[a] += 2 * ghosts[a];
  }
  return true;
}

namespace {

/// The value of the first inner cell, in an array with ghost cells.
const void* within(const void* data, std::span<const int64_t> ghosts, const int64_t* strides,
                   model::ElementType type) {
  if (data == nullptr) return nullptr;
  int64_t at = 0;
  for (size_t a = 0; a < ghosts.size(); ++a) at += ghosts[a] * strides[a];
  return static_cast<const std::byte*>(data) + at * static_cast<int64_t>(model::size_of(type));
}

}  // namespace

void Sharing::share_ghosts(const std::string& name, int32_t level, int32_t block, const int64_t* lo,
                           const int64_t* hi, const int64_t* ghosts, const void* data,
                           pillion_type type) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, type);
  if (field == nullptr) return;
  Where where{level, block};
  if (!put_box(*field, lo, hi, where)) return;
  auto extents = extents_in(*field, where.box);
  if (!add_ghosts(*field, where, ghosts, extents)) return;
  const auto axes = static_cast<size_t>(catalogue_.mesh(field->mesh).axes);
  int64_t strides[4] = {};
  int64_t next = field->components;
  for (size_t a = 0; a < axes; next *= extents[a++]) strides[a] = next;
  strides[axes] = 1;
  put_array(*field, where, within(data, std::span(ghosts, axes), strides, field->type), strides);
}

void Sharing::share_box(const std::string& name, int32_t level, int32_t block, int32_t axes,
                        const int64_t* lo, const int64_t* hi, const pillion_view& view,
                        bool components_last, const int64_t* ghosts) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, view.type);
  if (field == nullptr) return;
  Where where{level, block};
  if (!put_axes(*field, axes, lo, hi, where)) return;
  auto extents = extents_in(*field, where.box);
  if (!add_ghosts(*field, where, ghosts, extents)) return;
  const auto how = model::arrange(view, {std::span(extents).first(static_cast<size_t>(axes)),
                                         field->type, field->components, components_last, false});
  if (!how.fault.empty())
    return fault(name, block,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  int64_t strides[4] = {how.strides[0], how.strides[1], how.strides[2], how.strides[3]};
  strides[axes] = how.strides[3];
  const size_t widths = ghosts == nullptr ? 0 : static_cast<size_t>(axes);
  put_array(*field, where, within(view.data, std::span(ghosts, widths), strides, field->type),
            strides);
}

}  // namespace pillion::simulation

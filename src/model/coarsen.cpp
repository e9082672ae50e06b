// SPDX-License-Identifier: BSD-3-Clause
// Subsampling by index along the axes of a grid, by scattered id, or by scattered place in a list.
#include "model/coarsen.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "model/geometry.hpp"

namespace pillion::model {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

int64_t bytes_of(const Array& array) { return static_cast<int64_t>(size_of(array.type)); }

const void* element(const Array& array, int64_t offset) {
  return static_cast<const std::byte*>(array.data) + offset * bytes_of(array);
}

}  // namespace

int level_for(double ratio) {
  int level = 0;
  while (level < max_coarsening && static_cast<double>(int64_t{1} << level) < ratio) ++level;
  return level;
}

int64_t coarsening_factor(const Mesh& mesh, int level) {
  if (level < 0 || level > max_coarsening)
    base::fail(ErrorCode::Internal, "coarsening level {} of mesh '{}' is not between 0 and {}",
               level, mesh.name, max_coarsening);
  if (mesh.levels() > 1 || has_points(mesh.kind) || mesh.kind == MeshKind::Curvilinear ||
      mesh.has_values_at_points || !mesh.mask.empty() || !mesh.weight.empty())
    return 1;
  // Rounded up, so that never more remains than was asked for.
  const int64_t doublings = has_boxes(mesh.kind) ? ceil_div(level, mesh.axes) : level;
  return int64_t{1} << doublings;
}

Mesh coarse_mesh(const Mesh& mesh, int level) {
  const int64_t factor = coarsening_factor(mesh, level);
  Mesh coarse = mesh;
  if (is_counted(mesh.kind)) return coarse;
  if (mesh.levels() > 1) return coarse;
  for (int a = 0; a < mesh.axes; ++a) {
    const double width = mesh.length[a] / static_cast<double>(mesh.cells[a]);
    coarse.cells[a] = ceil_div(mesh.cells[a], factor);
    coarse.periodic[a] = mesh.periodic[a] && mesh.cells[a] % factor == 0;
    if (factor == 1) continue;
    if (mesh.kind == MeshKind::Rectilinear) {
      if (!mesh.faces.empty()) coarse.faces[a] = coarse_faces(mesh.faces[a], factor);
      continue;
    }
    coarse.length[a] = width * static_cast<double>(factor * coarse.cells[a]);
    coarse.origin[a] = mesh.origin[a] - width * static_cast<double>(factor - 1) / 2;
  }
  return coarse;
}

namespace {

Block coarse_box(const Block& fine, int axes, int64_t factor) {
  Block out = fine;
  std::array<int64_t, 3> before{};  // cells of each axis before the first that remains
  for (int a = 0; a < axes; ++a) {
    out.box.lo[a] = ceil_div(fine.box.lo[a], factor);
    out.box.hi[a] = ceil_div(fine.box.hi[a], factor);
    before[a] = out.box.lo[a] * factor - fine.box.lo[a];
  }
  out.owned = out.box.volume();
  for (const auto& [name, array] : fine.arrays) {
    Array& view = out.arrays[name] = array;
    view.version = 0;  // the receiver may have the whole array under this number
    int64_t offset = 0;
    for (int a = 0; a < axes; ++a) {
      offset += before[a] * array.strides[a];
      view.strides[a] *= factor;
    }
    if (out.owned != 0) view.data = element(array, offset);
  }
  return out;
}

int64_t integer_at(const Array& array, int64_t index) {
  const void* at = element(array, index * array.strides[0]);
  return array.type == ElementType::Int32 ? *static_cast<const int32_t*>(at)
                                          : *static_cast<const int64_t*>(at);
}

/// Indices of the particles that remain, by a number that each has. The first bits of the scattered
/// number decide, for ranks are given particles by its remainder: those with the same last bits may
/// all have one owner.
template <class NumberOf>
std::vector<int64_t> remaining_by(NumberOf&& number_of, int64_t count, int level) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i)
    if (scatter(number_of(i)) >> (64 - level) == 0) out.push_back(i);
  return out;
}

Array gather(const Array& array, const std::vector<int64_t>& indices, MeshBlocks& owner) {
  const auto size = static_cast<size_t>(bytes_of(array));
  const auto components = static_cast<size_t>(array.components);
  const bool together = array.components == 1 || (array.strides[3] == 1 && !array.is_apart());
  const size_t pieces = together ? 1 : components, piece = together ? size * components : size;
  auto memory = std::make_shared<base::Bytes>(indices.size() * components * size + 1);
  std::byte* to = memory->data();
  for (const int64_t i : indices)
    for (size_t c = 0; c < pieces; ++c, to += piece) {
      const auto component = static_cast<int32_t>(c);
      std::memcpy(to, element(array, i * array.strides[0] + array.component_at(component)), piece);
    }
  const Array out{
      memory->data(), array.type, array.components, {array.components, 0, 0, 1}, array.centering};
  owner.keep.push_back(std::move(memory));
  return out;
}

Block gather(const Block& fine, const std::vector<int64_t>& indices, MeshBlocks& owner) {
  Block out{fine.id, {{0, 0, 0}, {static_cast<int64_t>(indices.size()), 1, 1}}, 0, {}};
  for (const int64_t i : indices) out.owned += i < fine.owned ? 1 : 0;
  for (const auto& [name, array] : fine.arrays) out.arrays[name] = gather(array, indices, owner);
  return out;
}

const Array* find_key(const Block& block, const std::string& name) {
  const auto at = block.arrays.find(name);
  if (at == block.arrays.end() || at->second.components != 1) return nullptr;
  return can_number(at->second.type) ? &at->second : nullptr;
}

}  // namespace

MeshBlocks coarsen(const MeshBlocks& fine, const Mesh& mesh, int level, const std::string& key) {
  if (coarsening_factor(mesh, level) == 1) return fine;
  MeshBlocks out{.blocks = {}, .keep = fine.keep, .kind = fine.kind};
  if (has_boxes(mesh.kind)) {
    for (const auto& block : fine.blocks)
      out.blocks.push_back(coarse_box(block, mesh.axes, coarsening_factor(mesh, level)));
    return out;
  }
  int64_t before = 0;  // particles in the blocks before
  for (const auto& block : fine.blocks) {
    const Array* keys = find_key(block, key);
    const auto number_of = [&](int64_t i) { return keys ? integer_at(*keys, i) : before + i; };
    const int64_t count = block.box.extent(0);
    out.blocks.push_back(gather(block, remaining_by(number_of, count, level), out));
    before += count;
  }
  return out;
}

}  // namespace pillion::model

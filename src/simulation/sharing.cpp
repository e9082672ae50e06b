// SPDX-License-Identifier: BSD-3-Clause
// Keeping and checking what is shared.
#include "simulation/sharing.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "model/geometry.hpp"
#include "model/topology.hpp"
#include "model/view.hpp"
#include "redistribution/coverage.hpp"

namespace pillion::simulation {

using model::Block;
using model::Box;
using model::MeshKind;

const model::Field* Sharing::accept(const std::string& name, int32_t& block, MeshKind kind,
                                    pillion_type type) {
  const model::Field* field = catalogue_.find_field(name);
  if (field == nullptr) {
    fault(name, fmt::format("field '{}' was shared, but the catalogue does not have it{}", name,
                            base::suggestion(name, catalogue_.field_names())));
    return nullptr;
  }
  if (!field->parts.empty()) {
    refuse_assembled(*field);
    return nullptr;
  }
  if (block == any_block) {
    auto& shared = shared_[name];
    if (!shared.is_open) {
      fault(name, fmt::format("a block of field '{}' was shared without a number; call "
                              "begin_blocks for the field first, or number the block",
                              name));
      return nullptr;
    }
    block = shared.next;
  }
  if (block < 0) {
    fault(name, fmt::format("field '{}' was shared with block number {}; numbers start at 0", name,
                            block));
    return nullptr;
  }
  // All meshes of boxes are shared in the same way.
  const MeshKind known = catalogue_.mesh(field->mesh).kind;
  if (known != kind && !(kind == MeshKind::Uniform && model::has_boxes(known))) {
    fault(name, fmt::format("field '{}' was shared as {}, but its mesh '{}' is of kind '{}'", name,
                            kind == MeshKind::Uniform ? "a box" : model::items_of(kind),
                            field->mesh, model::name_of(known)));
    return nullptr;
  }
  if (type != 0 && type != static_cast<pillion_type>(field->type)) {
    fault(name, block,
          fmt::format("block {} of field '{}' was shared as {}, but the catalogue says {}", block,
                      name,
                      model::is_known(type) ? model::name_of(static_cast<model::ElementType>(type))
                                            : "an unknown type",
                      model::name_of(field->type)));
    return nullptr;
  }
  return field;
}

void Sharing::share_items(MeshKind kind, const std::string& name, int32_t block, int64_t count,
                          const void* data, pillion_type type) {
  const model::Field* field = accept(name, block, kind, type);
  if (field == nullptr) return;
  const int32_t values = model::values_of(catalogue_.mesh(field->mesh), *field);
  put_items(*field, block, count, data, {values, 1});
}

void Sharing::share_items(MeshKind kind, const std::string& name, int32_t block, int64_t count,
                          const pillion_view& view, bool components_last) {
  const model::Field* field = accept(name, block, kind, view.type);
  if (field == nullptr) return;
  const auto how = model::arrange(
      view, {std::span(&count, 1), field->type, field->components, components_last, true});
  if (!how.fault.empty())
    return fault(name, block,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  put_items(*field, block, count, view.data, {how.strides[0], how.strides[3]});
}

void Sharing::share_elements(const std::string& name, int32_t block, int64_t count,
                             const pillion_view& view) {
  const model::Field* field = accept(name, block, MeshKind::Spectral, view.type);
  if (field == nullptr) return;
  const auto& mesh = catalogue_.mesh(field->mesh);
  const auto points = points_along_axes(mesh, *field);
  const auto how = model::arrange_elements(view, {points, field->type, field->components}, count);
  if (!how.fault.empty())
    return fault(name, block,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  put_items(*field, block, count, view.data, {how.strides[0], how.strides[3]});
}

const char* Sharing::items_of(const model::Mesh& mesh, const model::Field& field) {
  const bool at_points =
      model::has_points(mesh.kind) && model::centering_of(mesh, field) == model::Centering::Point;
  return at_points ? "points" : model::items_of(mesh.kind);
}

model::Array Sharing::array_of_items(const model::Field& field, int64_t count, const void* data,
                                     const Spacing& spacing) const {
  const auto& mesh = catalogue_.mesh(field.mesh);
  model::Array array{data,
                     field.type,
                     model::values_of(mesh, field),
                     {spacing.items, spacing.items * count, spacing.items * count, spacing.values}};
  array.extents = {count, 1, 1};
  array.has_extents = model::has_points(mesh.kind);
  return array;
}

void Sharing::put_items(const model::Field& field, int32_t block, int64_t count, const void* data,
                        const Spacing& spacing) {
  const auto& mesh = catalogue_.mesh(field.mesh);
  if (count < 0 || (data == nullptr && count != 0))
    return fault(
        field.name, block,
        fmt::format("block {} of field '{}' was shared with {} {} and {} memory", block, field.name,
                    count, items_of(mesh, field), data == nullptr ? "no" : "some"));
  put(field.name, {0, block, {{0, 0, 0}, {count, 1, 1}}},
      array_of_items(field, count, data, spacing));
}

const model::Mesh* Sharing::accept_geometry(const std::string& name, const char* part,
                                            const std::string& field, int32_t& block) {
  const auto* mesh = catalogue_.find_mesh(name);
  if (mesh == nullptr || !model::has_points(mesh->kind)) {
    fault(name, mesh == nullptr
                    ? fmt::format("{} of mesh '{}' were shared, but the catalogue does not have "
                                  "it{}",
                                  part, name, base::suggestion(name, catalogue_.mesh_names()))
                    : fmt::format("{} of mesh '{}' were shared, which is of kind '{}'; only "
                                  "unstructured meshes have them",
                                  part, name, model::name_of(mesh->kind)));
    return nullptr;
  }
  if (block == any_block && shared_[field].is_open) block = shared_[field].next;
  if (block >= 0) return mesh;
  note_geometry(name, part, block,
                "the block has no number; numbers start at 0, or are given by Pillion after "
                "begin_blocks for the mesh");
  return nullptr;
}

void Sharing::note_geometry(const std::string& mesh, const char* part, int32_t block,
                            const std::string& text) {
  fault(fmt::format("{}/{}", mesh, part), block,
        fmt::format("{} of block {} of mesh '{}', rank {}: {}", part, block, mesh, rank_, text));
}

void Sharing::put_geometry(const model::Mesh& mesh, const char* part, const std::string& field,
                           int32_t block, const model::Array& array) {
  if (!faults_.empty() && faults_.erase({mesh.name, -1}) +
                                  faults_.erase({fmt::format("{}/{}", mesh.name, part), block}) >
                              0)
    ++version_;
  // Cells may name other points now, so the block is checked again when it is published.
  const auto* known = find(field, block);
  if (known != nullptr && known->version != array.version &&
      field == model::topology_of(mesh.name)) {
    ++version_;
    renew_constants(mesh.name, block);
  }
  put(field, {0, block, model::box_of(array, {})}, array);
}

void Sharing::put(const std::string& name, const Where& where, const model::Array& array) {
  auto& shared = shared_[name];
  auto [at, is_new] = shared.blocks.try_emplace(where.block);
  auto& entry = at->second;
  const bool same = !is_new && entry.box == where.box && entry.level == where.level &&
                    entry.array.strides == array.strides && entry.array.extents == array.extents &&
                    entry.array.is_apart() == array.is_apart();
  bool mended = false;
  if (!faults_.empty())
    for (const int32_t block : {where.block, -1}) mended |= faults_.erase({name, block}) != 0;
  const auto& field = catalogue_.field(name);
  const auto centering = model::centering_of(catalogue_.mesh(field.mesh), field);
  const bool is_constant = field.is_constant && !is_new && entry.box == where.box &&
                           entry.level == where.level && entry.array.extents == array.extents;
  if (shared.is_open) shared.next = std::max(shared.next, where.block + 1);
  if (is_constant && entry.given) {
    if (mended) ++version_;
    *entry.given = array;
    entry.given->centering = centering;
    entry.turn = shared.turn;
    return;
  }
  if (!same || mended) ++version_;
  const int64_t version = is_constant         ? entry.array.version
                          : field.is_constant ? new_version()
                                              : array.version;
  entry = {where.box, array, where.level, shared.turn, {}};
  entry.array.centering = centering;
  entry.array.version = version;
  if (field.is_constant && !is_constant) shared.new_blocks.insert(where.block);
  assemble(name, where.block);
}

void Sharing::renew(const std::string& name, int32_t block) {
  std::vector<std::string> names = catalogue_.assembled_from(name);
  names.push_back(name);
  for (const auto& each : names) {
    const auto at = shared_.find(each);
    if (at == shared_.end() || !at->second.blocks.contains(block)) continue;
    auto& entry = at->second.blocks.at(block);
    if (!catalogue_.field(each).is_constant) continue;
    if (entry.given) entry.array = *std::exchange(entry.given, nullptr);
    entry.array.version = new_version();
    at->second.new_blocks.insert(block);
    ++version_;
  }
}

void Sharing::renew_constants(const std::string& mesh, int32_t block) {
  for (const auto& [name, shared] : shared_)
    if (!model::is_geometry(name) && catalogue_.field(name).mesh == mesh) renew(name, block);
}

void Sharing::put_copy(const std::string& field, int32_t block, const model::Array& copy) {
  auto& entry = shared_.at(field).blocks.at(block);
  const int64_t version = entry.array.version;
  entry.given = std::make_shared<model::Array>(entry.array);
  entry.array = copy;
  entry.array.version = version;
  ++version_;
}

std::set<int32_t> Sharing::take_new_blocks(const std::string& field) {
  const auto at = shared_.find(field);
  return at == shared_.end() ? std::set<int32_t>() : std::exchange(at->second.new_blocks, {});
}

std::optional<Sharing::Given> Sharing::find_given(const std::string& field, int32_t block) const {
  const auto at = shared_.find(field);
  if (at == shared_.end()) return {};
  const auto found = at->second.blocks.lower_bound(block);
  if (found == at->second.blocks.end()) return {};
  const auto& entry = found->second;
  return Given{found->first, entry.box, entry.given ? entry.given.get() : &entry.array,
               entry.array.version};
}

void Sharing::refuse_assembled(const model::Field& field) {
  fault(field.name,
        fmt::format("field '{0}' was shared, which consists of the fields '{1}'; share these, or "
                    "say `components: {2}` and no list in the configuration",
                    field.name, fmt::join(field.parts, "', '"), field.components));
}

void Sharing::assemble(const std::string& part, int32_t block) {
  for (const auto& name : catalogue_.assembled_from(part)) {
    const auto& field = catalogue_.field(name);
    const Shared* first = entry_of(field.parts.front(), block);
    std::vector<const void*> data;
    for (const auto& each : field.parts) {
      const Shared* one = entry_of(each, block);
      const bool is_alike = first != nullptr && one != nullptr && one->box == first->box &&
                            one->level == first->level &&
                            one->array.strides == first->array.strides &&
                            one->array.extents == first->array.extents;
      if (is_alike) data.push_back(one->array.data);
    }
    if (data.size() == field.parts.size()) {
      auto like = first->array;
      like.data = nullptr;
      like.components = model::values_of(catalogue_.mesh(field.mesh), field);
      put_parts(field, {first->level, block, first->box}, data, like);
    } else if (entry_of(name, block) != nullptr) {
      unshare(name, block);
    }
  }
}

void Sharing::begin_blocks(const std::string& name) {
  const auto* field = catalogue_.find_field(name);
  if (field == nullptr)
    return fault(name, fmt::format("blocks of field '{}' were begun, but the catalogue does not "
                                   "have it{}",
                                   name, base::suggestion(name, catalogue_.field_names())));
  if (!field->parts.empty()) return refuse_assembled(*field);
  auto& shared = shared_[name];
  if (shared.is_open)
    return fault(name,
                 fmt::format("blocks of field '{}' were begun twice; call end_blocks first", name));
  shared.is_open = true;
  shared.next = 0;
  ++shared.turn;
  // Every block is shared again, so no fault of an earlier one stays.
  if (std::erase_if(faults_, [&](const auto& fault) { return fault.first.first == name; }) != 0)
    ++version_;
}

std::vector<int32_t> Sharing::end_blocks(const std::string& name) {
  const auto at = shared_.find(name);
  if (catalogue_.find_field(name) == nullptr) return {};  // begin_blocks() has noted it
  if (at == shared_.end() || !at->second.is_open) {
    fault(name, fmt::format("blocks of field '{}' were ended, but not begun; call begin_blocks "
                            "first",
                            name));
    return {};
  }
  auto& shared = at->second;
  shared.is_open = false;
  std::vector<int32_t> left;
  for (const auto& [number, block] : shared.blocks)
    if (block.turn != shared.turn) left.push_back(number);
  for (const int32_t number : left) shared.blocks.erase(number);
  if (!left.empty()) ++version_;
  for (const int32_t number : left) assemble(name, number);
  return left;
}

const Sharing::Shared* Sharing::entry_of(const std::string& field, int32_t block) const {
  const auto at = shared_.find(field);
  if (at == shared_.end()) return nullptr;
  const auto entry = at->second.blocks.find(block);
  return entry == at->second.blocks.end() ? nullptr : &entry->second;
}

const model::Array* Sharing::find(const std::string& field, int32_t block) const {
  const Shared* entry = entry_of(field, block);
  return entry == nullptr ? nullptr : &entry->array;
}

const model::Array* Sharing::Finder::find(const std::string& field, int32_t block) {
  const auto at = sharing_.shared_.find(field);
  if (at == sharing_.shared_.end()) return nullptr;
  const auto& blocks = at->second.blocks;
  auto& next = next_.try_emplace(field, blocks.begin()).first->second;
  if (next == blocks.end() || next->first != block) next = blocks.find(block);
  return next == blocks.end() ? nullptr : &(next++)->second.array;
}

bool Sharing::has(const std::string& field) const {
  const auto at = shared_.find(field);
  return at != shared_.end() && !at->second.blocks.empty();
}

// A block with ghost cells begins within the buffer; a block of other memory stays where it is.
void Sharing::move(const std::string& field, int32_t block, const std::byte* from, size_t size,
                   const std::byte* to) {
  const auto at = shared_.find(field);
  if (at == shared_.end()) return;
  const auto entry = at->second.blocks.find(block);
  if (entry == at->second.blocks.end()) return;
  auto& array = entry->second.given ? *entry->second.given : entry->second.array;
  const auto* begin = static_cast<const std::byte*>(array.data);
  const bool moves = begin >= from && begin < from + size;
  if (moves) array.data = to + (begin - from);
  assemble(field, block);
  if (moves && catalogue_.field(field).is_constant)
    renew(field, block);  // for the program fills it
}

void Sharing::unshare(const std::string& field, int32_t block) {
  const auto at = shared_.find(field);
  if (at != shared_.end()) at->second.blocks.erase(block);
  ++version_;
  assemble(field, block);
}

void Sharing::set_domain(const std::string& mesh, const pillion_domain& domain) {
  const auto* known = catalogue_.find_mesh(mesh);
  if (known == nullptr || known->kind != MeshKind::Particles)
    return fault(mesh,
                 fmt::format("a domain was given for '{}', which is not a particle mesh", mesh));
  if (domain.dimensions != 0 && domain.dimensions != 2 && domain.dimensions != 3)
    return fault(mesh, fmt::format("the domain of mesh '{}' has {} dimensions; set 2 or 3, or 0 to "
                                   "leave it to the configuration",
                                   mesh, domain.dimensions));
  if (domain.dimensions == 3 && known->axes == 2)
    return fault(mesh, fmt::format("the program gives mesh '{}' 3 dimensions, but the "
                                   "configuration says 'dimensions: 2'; leave that out",
                                   mesh));
  const int dimensions = domain.dimensions != 0 ? domain.dimensions : known->axes;
  for (int d = 0; d < dimensions; ++d)
    if (!(domain.hi[d] > domain.lo[d]))
      return fault(
          mesh, fmt::format("the domain of mesh '{}' has no extent along axis {}: [{}, {})", mesh,
                            d, domain.lo[d], domain.hi[d]));
  faults_.erase({mesh, -1});
  domains_[mesh] = domain;
  domains_[mesh].dimensions = dimensions;
  ++version_;
}

void Sharing::set_coordinates(const std::string& mesh, int32_t axis, int64_t count,
                              const double* values) {
  const auto* known = catalogue_.find_mesh(mesh);
  if (known == nullptr || known->kind != MeshKind::Rectilinear)
    return fault(
        mesh, fmt::format("coordinates were set for '{}', which is not a rectilinear mesh", mesh));
  if (axis < 0 || axis >= known->axes)
    return fault(mesh, fmt::format("coordinates of mesh '{}' were set along axis {}, counted from "
                                   "0; it has {} axes",
                                   mesh, axis, known->axes));
  const std::span given(values, static_cast<size_t>(std::max<int64_t>(count, 0)));
  const std::string what = fmt::format("{}/{}", mesh, axis);
  const auto wrong = model::fault_of_faces(*known, axis, given);
  if (!wrong.empty()) return fault(what, fmt::format("mesh '{}': {}", mesh, wrong));
  if (!known->faces.empty() && !std::ranges::equal(known->faces[static_cast<size_t>(axis)], given))
    return fault(what, fmt::format("coordinates of mesh '{}' along {} were set, but the "
                                   "configuration has others; leave 'coordinates' out there",
                                   mesh, model::name_of_axis(*known, axis)));
  const bool mended = faults_.erase({mesh, -1}) + faults_.erase({what, -1}) != 0;
  if (!known->faces.empty()) return;
  auto& faces = coordinates_[mesh];
  faces.resize(static_cast<size_t>(known->axes));
  auto& along = faces[static_cast<size_t>(axis)];
  if (!mended && std::equal(along.begin(), along.end(), given.begin(), given.end())) return;
  along.assign(given.begin(), given.end());
  ++version_;
}

void Sharing::throw_fault() const {
  if (!faults_.empty()) throw Error(ErrorCode::Sharing, faults_.begin()->second);
}

bool Sharing::is_of(const std::string& what, const std::set<std::string>& fields) const {
  if (fields.contains(what)) return true;
  for (const auto& name : catalogue_.assembled_from(what))
    if (fields.contains(name)) return true;
  const std::string mesh = what.substr(0, what.find('/'));  // coordinates have an axis behind it
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto& name) { return catalogue_.field(name).mesh == mesh; });
}

void Sharing::throw_fault(const std::set<std::string>& fields) const {
  for (const auto& [what, text] : faults_)
    if (is_of(what.first, fields)) throw Error(ErrorCode::Sharing, text);
}

std::vector<std::string> Sharing::take_other_faults(const std::set<std::string>& fields) {
  std::vector<std::string> out;
  std::erase_if(faults_, [&](const auto& fault) {
    if (is_of(fault.first.first, fields)) return false;
    out.push_back(fault.second);
    return true;
  });
  return out;
}

std::vector<redistribution::MeshBox> Sharing::boxes_of(const std::string& field) const {
  std::vector<redistribution::MeshBox> boxes;
  const auto shared = shared_.find(field);
  if (shared == shared_.end()) return boxes;
  boxes.reserve(shared->second.blocks.size());
  for (const auto& [number, entry] : shared->second.blocks)
    boxes.push_back({entry.level, number, entry.box});
  return boxes;
}

}  // namespace pillion::simulation

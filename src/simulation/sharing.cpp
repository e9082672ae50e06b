// SPDX-License-Identifier: BSD-3-Clause
// Keeping and checking what is shared.
#include "simulation/sharing.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "model/geometry.hpp"
#include "model/view.hpp"
#include "redistribution/coverage.hpp"

namespace pillion::simulation {

using model::Block;
using model::Box;
using model::MeshKind;

const model::Field* Sharing::accept(const std::string& name, int32_t block, MeshKind kind,
                                    pillion_type type) {
  const model::Field* field = catalogue_.find_field(name);
  if (field == nullptr) {
    fault(name, fmt::format("field '{}' was shared, but the catalogue does not have it{}", name,
                            base::suggestion(name, catalogue_.field_names())));
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
    fault(name,
          fmt::format("block {} of field '{}' was shared as {}, but the catalogue says {}", block,
                      name,
                      model::is_known(type) ? model::name_of(static_cast<model::ElementType>(type))
                                            : "an unknown type",
                      model::name_of(field->type)));
    return nullptr;
  }
  if (block < 0) {
    fault(name, fmt::format("field '{}' was shared with block number {}; numbers start at 0", name,
                            block));
    return nullptr;
  }
  return field;
}

std::optional<Box> Sharing::box_of(const model::Field& field, int32_t block, const int64_t* lo,
                                   const int64_t* hi) {
  const auto& mesh = catalogue_.mesh(field.mesh);
  Box box;
  bool inside = true;
  for (int a = 0; a < mesh.axes; ++a) {
    box.lo[a] = lo[a];
    box.hi[a] = hi[a];
    inside = inside && lo[a] >= 0 && lo[a] <= hi[a] && hi[a] <= mesh.cells[a];
  }
  if (inside) return box;
  fault(field.name,
        fmt::format("block {} of field '{}' was shared as box {}, which does not lie in "
                    "mesh '{}' of {}",
                    block, field.name, model::to_string(box, mesh.axes), mesh.name,
                    model::to_string({{0, 0, 0}, mesh.cells}, mesh.axes)));
  return {};
}

void Sharing::share_box(const std::string& name, int32_t block, const int64_t* lo,
                        const int64_t* hi, const void* data, pillion_type type,
                        const int64_t* strides) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, type);
  if (field == nullptr) return;
  const int axes = catalogue_.mesh(field->mesh).axes;
  const auto box = box_of(*field, block, lo, hi);
  if (!box) return;
  if (data == nullptr && box->volume() != 0)
    return fault(name,
                 fmt::format("block {} of field '{}' was shared without memory", block, name));
  model::Array array{data, field->type, field->components,
                     model::packed_strides(*box, field->components)};
  if (strides != nullptr) {
    for (int a = 0; a < axes; ++a) array.strides[a] = strides[a];
    array.strides[3] = strides[axes];
  }
  put(name, block, *box, array);
}

void Sharing::share_box(const std::string& name, int32_t block, int32_t axes, const int64_t* lo,
                        const int64_t* hi, const pillion_view& view, bool components_last) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, view.type);
  if (field == nullptr) return;
  const auto& mesh = catalogue_.mesh(field->mesh);
  if (axes != mesh.axes)
    return fault(name, fmt::format("block {} of field '{}' was shared with {} indices, but mesh "
                                   "'{}' has {} axes",
                                   block, name, axes, mesh.name, mesh.axes));
  const auto box = box_of(*field, block, lo, hi);
  if (!box) return;
  std::array<int64_t, 3> extents{};
  for (int a = 0; a < axes; ++a) extents[a] = box->extent(a);
  const auto how = model::arrange(view, {std::span(extents).first(axes), field->type,
                                         field->components, components_last, false});
  if (!how.fault.empty())
    return fault(name,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  int64_t strides[4] = {how.strides[0], how.strides[1], how.strides[2], how.strides[3]};
  strides[axes] = how.strides[3];
  share_box(name, block, lo, hi, view.data, view.type, strides);
}

void Sharing::share_items(MeshKind kind, const std::string& name, int32_t block, int64_t count,
                          const void* data, pillion_type type) {
  const model::Field* field = accept(name, block, kind, type);
  if (field == nullptr) return;
  const int32_t values = model::values_of(catalogue_.mesh(field->mesh), *field);
  put_items(*field, block, count, data, {values, 1});
}

void Sharing::share_particles(const std::string& name, int32_t block, int64_t count,
                              const pillion_view& view, bool components_last) {
  const model::Field* field = accept(name, block, MeshKind::Particles, view.type);
  if (field == nullptr) return;
  const auto how = model::arrange(
      view, {std::span(&count, 1), field->type, field->components, components_last, true});
  if (!how.fault.empty())
    return fault(name,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  put_items(*field, block, count, view.data, {how.strides[0], how.strides[3]});
}

void Sharing::share_elements(const std::string& name, int32_t block, int64_t count,
                             const pillion_view& view) {
  const model::Field* field = accept(name, block, MeshKind::Spectral, view.type);
  if (field == nullptr) return;
  const auto& mesh = catalogue_.mesh(field->mesh);
  const int points = model::points_of(mesh, *field) > 1 ? mesh.order + 1 : 1;
  const auto how =
      model::arrange_elements(view, {{}, field->type, field->components}, points, count);
  if (!how.fault.empty())
    return fault(name,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  put_items(*field, block, count, view.data, {how.strides[0], how.strides[3]});
}

void Sharing::put_items(const model::Field& field, int32_t block, int64_t count, const void* data,
                        const Spacing& spacing) {
  const auto& mesh = catalogue_.mesh(field.mesh);
  if (count < 0 || (data == nullptr && count != 0))
    return fault(
        field.name,
        fmt::format("block {} of field '{}' was shared with {} {} and {} memory", block, field.name,
                    count, model::items_of(mesh.kind), data == nullptr ? "no" : "some"));
  put(field.name, block, {{0, 0, 0}, {count, 1, 1}},
      {data,
       field.type,
       model::values_of(mesh, field),
       {spacing.items, spacing.items * count, spacing.items * count, spacing.values}});
}

void Sharing::put(const std::string& name, int32_t block, const Box& box,
                  const model::Array& array) {
  auto [at, is_new] = shared_[name].try_emplace(block, Shared{box, array});
  auto& [old_box, old] = at->second;
  const auto& field = catalogue_.field(name);
  const bool same = !is_new && old_box == box && old.strides == array.strides;
  const bool mended = faults_.erase(name) != 0;
  if (!same || mended) ++version_;
  at->second = {box, array};
  at->second.array.centering = model::centering_of(catalogue_.mesh(field.mesh), field);
}

const model::Array* Sharing::find(const std::string& field, int32_t block) const {
  const auto at = shared_.find(field);
  if (at == shared_.end()) return nullptr;
  const auto entry = at->second.find(block);
  return entry == at->second.end() ? nullptr : &entry->second.array;
}

bool Sharing::has(const std::string& field) const {
  const auto at = shared_.find(field);
  return at != shared_.end() && !at->second.empty();
}

// A block with ghost cells begins within the buffer; a block of other memory stays where it is.
void Sharing::move(const std::string& field, int32_t block, const std::byte* from, size_t size,
                   const std::byte* to) {
  const auto at = shared_.find(field);
  if (at == shared_.end()) return;
  const auto entry = at->second.find(block);
  if (entry == at->second.end()) return;
  auto& data = entry->second.array.data;
  const auto* begin = static_cast<const std::byte*>(data);
  if (begin >= from && begin < from + size) data = to + (begin - from);
}

void Sharing::unshare(const std::string& field, int32_t block) {
  const auto at = shared_.find(field);
  if (at != shared_.end()) at->second.erase(block);
  ++version_;
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
  faults_.erase(mesh);
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
  const bool mended = faults_.erase(mesh) + faults_.erase(what) != 0;
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

namespace {

[[noreturn]] void differ(const model::Mesh& mesh, const std::string& field, int32_t block,
                         const Box& one, const Box& other) {
  const auto text_of = [&](const Box& box) {
    return is_counted(mesh.kind) ? fmt::format("{} {}", box.extent(0), model::items_of(mesh.kind))
                                 : model::to_string(box, 3);
  };
  base::fail(ErrorCode::Sharing,
             "block {} of field '{}' was shared as {}, but another field of mesh '{}' as {}", block,
             field, text_of(one), mesh.name, text_of(other));
}

}  // namespace

stagehost::Publication Sharing::publication(const std::set<std::string>& fields, int64_t step,
                                            double time) const {
  throw_fault();
  stagehost::Publication out{
      .step = step, .time = time, .meshes = {}, .domains = domains_, .coordinates = coordinates_};
  std::map<std::string, std::map<int32_t, Block>> blocks;
  std::map<std::string, size_t> wanted;
  for (const auto& name : fields) {
    const std::string& mesh = catalogue_.field(name).mesh;
    ++wanted[mesh];
    const auto shared = shared_.find(name);
    if (shared == shared_.end()) continue;
    for (const auto& [number, entry] : shared->second) {
      auto [at, is_new] = blocks[mesh].try_emplace(number);
      Block& block = at->second;
      if (is_new) block = {model::block_id(rank_, number), entry.box, entry.box.volume(), {}};
      if (block.box != entry.box) differ(catalogue_.mesh(mesh), name, number, entry.box, block.box);
      block.arrays[name] = entry.array;
    }
  }
  for (auto& [mesh, by_number] : blocks) {
    out.meshes[mesh].kind = catalogue_.mesh(mesh).kind;
    for (auto& [number, block] : by_number) {
      if (block.arrays.size() != wanted[mesh])
        for (const auto& name : fields)
          if (catalogue_.field(name).mesh == mesh && !block.arrays.contains(name))
            base::fail(ErrorCode::Sharing,
                       "block {} of mesh '{}' was shared without field '{}', which is needed",
                       number, mesh, name);
      out.meshes[mesh].blocks.push_back(std::move(block));
    }
  }
  return out;
}

void Sharing::check_coverage(const model::Mesh& mesh, const std::string& field,
                             const comm::Communicator& simulation) const {
  std::vector<Box> boxes;
  const auto shared = shared_.find(field);
  if (shared != shared_.end())
    for (const auto& [number, entry] : shared->second) boxes.push_back(entry.box);
  const auto fault =
      redistribution::find_coverage_fault(simulation, boxes, {{0, 0, 0}, mesh.cells});
  comm::together(simulation, [&] {
    if (fault.overlap)
      base::fail(ErrorCode::Sharing, "boxes {} and {} of field '{}' overlap",
                 model::to_string(fault.overlap->first, mesh.axes),
                 model::to_string(fault.overlap->second, mesh.axes), field);
  });
  // Without overlaps, all cells are covered if there are as many as the mesh has.
  const int64_t expected = mesh.cells[0] * mesh.cells[1] * mesh.cells[2];
  if (fault.covered == expected) return;
  comm::together(simulation, [&] {
    if (fault.hole)
      base::fail(ErrorCode::Sharing,
                 "the boxes of field '{}' cover {} of the {} cells of mesh '{}'; box {} is in none "
                 "of them",
                 field, fault.covered, expected, mesh.name,
                 model::to_string(*fault.hole, mesh.axes));
  });
}

// Ranks compare sums, and not all coordinates.
void Sharing::check_coordinates(const std::set<std::string>& meshes,
                                const comm::Communicator& simulation) const {
  std::vector<double> least, greatest;
  comm::together(simulation, [&] {
    for (const auto& name : meshes) {
      const auto& mesh = catalogue_.mesh(name);
      const auto at = coordinates_.find(name);
      for (int a = 0; a < mesh.axes; ++a) {
        const auto axis = static_cast<size_t>(a);
        if (at == coordinates_.end() || at->second[axis].empty())
          base::fail(ErrorCode::Sharing,
                     "mesh '{}' has no coordinates along {}; call pillion_set_coordinates before "
                     "the first step, or give them in the configuration",
                     name, model::name_of_axis(mesh, a));
        double sum = 0, count = 1;
        for (const double x : at->second[axis]) sum += x * count++;
        least.push_back(sum);
      }
    }
    greatest = least;
  });
  simulation.reduce(least.data(), static_cast<int64_t>(least.size()), comm::Operation::Min);
  simulation.reduce(greatest.data(), static_cast<int64_t>(greatest.size()), comm::Operation::Max);
  auto at = size_t{0};
  for (const auto& name : meshes)
    for (int a = 0; a < catalogue_.mesh(name).axes; ++a, ++at)
      if (least[at] != greatest[at])
        base::fail(ErrorCode::Sharing,
                   "the coordinates of mesh '{}' along {} are not the same on every rank", name,
                   model::name_of_axis(catalogue_.mesh(name), a));
}

// All fields of a mesh that are needed lie in the same boxes, or there is no publication. So the
// boxes of one of them are checked.
void Sharing::check(const std::set<std::string>& fields,
                    const comm::Communicator& simulation) const {
  comm::together(simulation, [&] { (void)publication(fields, 0, 0); });
  std::vector<int32_t> is_shared;
  for (const auto& name : fields) is_shared.push_back(has(name) ? 1 : 0);
  simulation.reduce(is_shared.data(), static_cast<int64_t>(is_shared.size()), comm::Operation::Max);
  comm::together(simulation, [&] {
    auto somewhere = is_shared.begin();
    for (const auto& name : fields) {
      const auto& mesh = catalogue_.mesh_of(name);
      if (*somewhere++ == 0)
        base::fail(ErrorCode::Sharing, "field '{}' is needed, but no rank shares it", name);
      if (mesh.kind == MeshKind::Particles && !domains_.contains(mesh.name))
        base::fail(ErrorCode::Sharing,
                   "mesh '{}' has no domain; call pillion_set_domain before the first step",
                   mesh.name);
    }
  });
  std::set<std::string> checked, without_faces;
  for (const auto& name : fields) {
    const auto& mesh = catalogue_.mesh_of(name);
    if (mesh.kind == MeshKind::Rectilinear && mesh.faces.empty()) without_faces.insert(mesh.name);
  }
  check_coordinates(without_faces, simulation);
  for (const auto& name : fields) {
    const auto& mesh = catalogue_.mesh_of(name);
    if (model::has_boxes(mesh.kind) && checked.insert(mesh.name).second)
      check_coverage(mesh, name, simulation);
  }
}

void* SharedData::allocate(const std::string& field, int32_t block, size_t size, int32_t buffers) {
  if (catalogue_.find_field(field) == nullptr)
    base::fail(ErrorCode::Argument, "the catalogue has no field '{}'{}", field,
               base::suggestion(field, catalogue_.field_names()));
  return allocations_.allocate(field, block, size, buffers);
}

void* SharedData::swap(const std::string& field, int32_t block) {
  if (sender_ != nullptr) allocations_.reclaim(sender_->released());
  const auto [before, now, size] = allocations_.swap(field, block);
  sharing_.move(field, block, before, size, now);
  return now;
}

void SharedData::unshare(const std::string& field, int32_t block) {
  sharing_.unshare(field, block);
  allocations_.free(field, block);
}

}  // namespace pillion::simulation

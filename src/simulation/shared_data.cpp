// SPDX-License-Identifier: BSD-3-Clause
// Checking what ranks share together, and keeping the memory that the session has given.
#include "simulation/shared_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "model/cell_volumes.hpp"
#include "model/geometry.hpp"
#include "model/topology.hpp"
#include "redistribution/coverage.hpp"
#include "redistribution/repeated_ids.hpp"

namespace pillion::simulation {

// As a rule all fields of a mesh lie in the same boxes, and those of one of them are checked.
void SharedData::check_coverage(const std::set<std::string>& fields,
                                const comm::Communicator& simulation) const {
  std::map<std::string, std::string> first;  // by mesh
  std::vector<std::string> checked;
  std::vector<int32_t> differs;
  comm::together(simulation, [&] {
    for (const auto& name : fields) {
      const auto& mesh = catalogue_.mesh_of(name);
      if (!model::has_boxes(mesh.kind)) continue;
      const auto [at, is_first] = first.try_emplace(mesh.name, name);
      checked.push_back(name);
      differs.push_back(is_first || sharing_.boxes_of(name) != sharing_.boxes_of(at->second) ? 1
                                                                                             : 0);
    }
  });
  simulation.reduce(differs.data(), static_cast<int64_t>(differs.size()), comm::Operation::Max);
  for (size_t f = 0; f < checked.size(); ++f) {
    if (differs[f] == 0) continue;
    std::vector<redistribution::MeshBox> boxes;
    comm::together(simulation, [&] { boxes = sharing_.boxes_of(checked[f]); });
    (void)redistribution::find_covered(simulation, boxes, catalogue_.mesh_of(checked[f]),
                                       checked[f]);
  }
}

// Ranks compare sums, and not all coordinates.
void SharedData::check_coordinates(const std::set<std::string>& meshes,
                                   const comm::Communicator& simulation) const {
  std::vector<double> least, greatest;
  const auto& coordinates = sharing_.coordinates();
  comm::together(simulation, [&] {
    for (const auto& name : meshes) {
      const auto& mesh = catalogue_.mesh(name);
      const auto at = coordinates.find(name);
      for (int a = 0; a < mesh.axes; ++a) {
        const auto axis = static_cast<size_t>(a);
        if (at == coordinates.end() || at->second[axis].empty())
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

// Stages check cells again when they have changed; this way the first are refused everywhere.
void SharedData::check_volumes(const stagehost::Publication& publication) const {
  for (const auto& [name, blocks] : publication.meshes)
    for (const auto& block : blocks.blocks) {
      const auto fault = model::fault_of_volumes(catalogue_.mesh(name), block);
      if (!fault.empty())
        base::fail(ErrorCode::Sharing, "block {} of mesh '{}', rank {}: {}", block.number(), name,
                   sharing_.rank(), fault);
    }
}

// A cell that two ranks have without a flag would count twice. Ids tell, if there are some.
void SharedData::check_copies(const std::set<std::string>& fields,
                              const comm::Communicator& simulation) const {
  std::map<std::string, std::vector<int64_t>> ids;  // by mesh, the same meshes on every rank
  comm::together(simulation, [&] {
    for (const auto& name : fields)
      if (const auto& mesh = catalogue_.mesh_of(name); model::has_points(mesh.kind))
        ids.try_emplace(mesh.name);
    const auto publication = sharing_.publication(fields, 0, 0);
    for (const auto& [name, blocks] : publication.meshes)
      for (const auto& block : blocks.blocks) {
        const auto cells = block.arrays.find(model::topology_of(name));
        if (!ids.contains(name) || cells == block.arrays.end()) continue;
        const auto& array = cells->second;
        const auto topology = model::read_topology(
            {static_cast<const std::byte*>(array.data), static_cast<size_t>(array.extents[0])});
        for (size_t c = 0; c < topology.ids.size(); ++c)
          if (topology.flags.empty() || topology.flags[c] == 0)
            ids[name].push_back(topology.ids[c]);
      }
  });
  for (const auto& [name, of] : ids) {
    const auto found = redistribution::find_repeated(simulation, of);
    if (!found) continue;
    base::fail(
        ErrorCode::Sharing,
        "cell id {} of mesh '{}' is shared {}, without a flag. The cell would count twice: set "
        "the flag PILLION_CELL_DUPLICATE (1) of copies, such as ghost cells, and give each "
        "cell an id of its own",
        found->id, name,
        found->lower == found->upper
            ? fmt::format("twice by rank {}", found->lower)
            : fmt::format("by ranks {} and {}", found->lower, found->upper));
  }
}

namespace {

/// What a program shares for a field.
std::string shared_as(const model::Field& field) {
  if (field.parts.empty()) return model::is_geometry(field.name) ? "them" : "it";
  return fmt::format("blocks of all of '{}' that lie alike", fmt::join(field.parts, "', '"));
}

}  // namespace

void SharedData::check(const std::set<std::string>& fields,
                       const comm::Communicator& simulation) const {
  std::vector<int32_t> is_shared;
  comm::together(simulation, [&] {
    for (const auto& name : fields) is_shared.push_back(sharing_.has(name) ? 1 : 0);
    sharing_.throw_fault();
    check_volumes(sharing_.publication(fields, 0, 0));
  });
  simulation.reduce(is_shared.data(), static_cast<int64_t>(is_shared.size()), comm::Operation::Max);
  comm::together(simulation, [&] {
    auto somewhere = is_shared.begin();
    for (const auto& name : fields) {
      const auto& mesh = catalogue_.mesh_of(name);
      if (*somewhere++ == 0)
        base::fail(ErrorCode::Sharing, "{} needed, but no rank shares {}",
                   model::is_geometry(name)
                       ? fmt::format("points and cells of mesh '{}' are", mesh.name)
                       : fmt::format("field '{}' is", name),
                   shared_as(catalogue_.field(name)));
      if (mesh.kind == model::MeshKind::Particles && !sharing_.domains().contains(mesh.name))
        base::fail(ErrorCode::Sharing,
                   "mesh '{}' has no domain; call pillion_set_domain before the first step",
                   mesh.name);
    }
  });
  check_copies(fields, simulation);
  std::set<std::string> without_faces;
  comm::together(simulation, [&] {
    for (const auto& name : fields) {
      const auto& mesh = catalogue_.mesh_of(name);
      if (mesh.kind == model::MeshKind::Rectilinear && mesh.faces.empty())
        without_faces.insert(mesh.name);
    }
  });
  check_coordinates(without_faces, simulation);
  check_coverage(fields, simulation);
}

void* SharedData::allocate(const std::string& field, int32_t block, size_t size, int32_t buffers) {
  if (catalogue_.find_field(field) == nullptr)
    base::fail(ErrorCode::Argument, "the catalogue has no field '{}'{}", field,
               base::suggestion(field, catalogue_.field_names()));
  if (const auto& parts = catalogue_.field(field).parts; !parts.empty())
    base::fail(ErrorCode::Argument,
               "field '{}' consists of the fields '{}'; ask for memory of these", field,
               fmt::join(parts, "', '"));
  if (sender_ != nullptr) allocations_.reclaim(sender_->released());
  return allocations_.allocate(field, block, size, buffers);
}

void* SharedData::swap(const std::string& field, int32_t block) {
  if (sender_ != nullptr) allocations_.reclaim(sender_->released());
  const auto [before, now, size] = allocations_.swap(field, block);
  sharing_.move(field, block, before, size, now);
  return now;
}

std::vector<std::string> SharedData::fields_called(const std::string& name) const {
  const auto* mesh = catalogue_.find_mesh(name);
  if (catalogue_.find_field(name) != nullptr || mesh == nullptr || !model::has_points(mesh->kind))
    return {name};
  auto fields = model::geometry_fields(*mesh);
  std::erase_if(fields, [](const auto& field) { return !model::is_geometry(field); });
  return fields;
}

void SharedData::unshare(const std::string& name, int32_t block) {
  for (const auto& field : fields_called(name)) {
    sharing_.unshare(field, block);
    allocations_.free(field, block);
    constants_.forget(field, block);
  }
}

void SharedData::begin_blocks(const std::string& name) {
  for (const auto& field : fields_called(name)) sharing_.begin_blocks(field);
}

void SharedData::end_blocks(const std::string& name) {
  for (const auto& field : fields_called(name))
    for (const int32_t block : sharing_.end_blocks(field)) {
      allocations_.free(field, block);
      constants_.forget(field, block);
    }
}

// What has not changed stays where it is, with its version, and need not be sent again.
void SharedData::keep_geometry(const model::Mesh& mesh, const char* part, const std::string& field,
                               int32_t block, std::span<const std::byte> bytes,
                               model::Array array) {
  const auto* known = sharing_.find(field, block);
  const bool fits = known != nullptr && known->extents == array.extents;
  if (fits && std::memcmp(known->data, bytes.data(), bytes.size()) == 0) {
    const auto same = *known;
    return sharing_.put_geometry(mesh, part, field, block, same);
  }
  if (sender_ != nullptr) allocations_.reclaim(sender_->released());
  void* to = allocations_.renew_copy(field, block, std::max<size_t>(bytes.size(), 64));
  std::memcpy(to, bytes.data(), bytes.size());
  array.data = to;
  array.version = sharing_.new_version();
  sharing_.put_geometry(mesh, part, field, block, array);
}

namespace {

model::Array array_of(model::ElementType type, int32_t components, int64_t count) {
  model::Array array;
  array.type = type;
  array.components = components;
  array.extents = {count, 1, 1};
  array.has_extents = true;
  array.strides = model::packed_strides({{0, 0, 0}, array.extents}, components);
  return array;
}

std::string fault_of(const pillion_points& points) {
  if (points.count < 0) return fmt::format("there are {} points", points.count);
  if (points.type != PILLION_FLOAT32 && points.type != PILLION_FLOAT64)
    return fmt::format("coordinates are of type {}; they must be float32 or float64",
                       model::is_known(points.type)
                           ? model::name_of(static_cast<model::ElementType>(points.type))
                           : fmt::format("{}", points.type));
  if (points.dimensions < 0 || points.dimensions > 3)
    return fmt::format("points have {} coordinates; they must have 1 to 3", points.dimensions);
  const int dimensions = points.dimensions == 0 ? 3 : points.dimensions;
  const bool is_apart = points.data[1] != nullptr;
  for (int d = 0; d < (is_apart ? dimensions : 1) && points.count > 0; ++d)
    if (points.data[d] == nullptr) return fmt::format("there is no memory for coordinate {}", d);
  return {};
}

template <class T>
std::string copy_points(const pillion_points& points, double* to) {
  const int dimensions = points.dimensions == 0 ? 3 : points.dimensions;
  const bool is_apart = points.data[1] != nullptr;
  const int64_t stride = points.stride != 0 ? points.stride : is_apart ? 1 : dimensions;
  for (int d = 0; d < dimensions; ++d) {
    const auto* from = static_cast<const T*>(points.data[is_apart ? d : 0]) + (is_apart ? 0 : d);
    for (int64_t i = 0; i < points.count; ++i) {
      const auto x = static_cast<double>(from[i * stride]);
      if (!std::isfinite(x))
        return fmt::format("coordinate {} of point {} is {}, which is not a number in space", d, i,
                           x);
      to[3 * i + d] = x;
    }
  }
  return {};
}

}  // namespace

void SharedData::share_points(const std::string& name, int32_t block,
                              const pillion_points& points) {
  const auto coordinates = model::coordinates_of(name), ids = model::point_ids_of(name);
  const auto* mesh = sharing_.accept_geometry(name, "points", coordinates, block);
  if (mesh == nullptr) return;
  std::vector<double> copied;
  auto fault = fault_of(points);
  if (fault.empty()) {
    copied.resize(3 * static_cast<size_t>(points.count));
    fault = points.type == PILLION_FLOAT32 ? copy_points<float>(points, copied.data())
                                           : copy_points<double>(points, copied.data());
  }
  if (!fault.empty()) return sharing_.note_geometry(name, "points", block, fault);
  const std::span given(points.ids, points.ids == nullptr ? 0 : static_cast<size_t>(points.count));
  keep_geometry(*mesh, "points", coordinates, block, std::as_bytes(std::span(copied)),
                array_of(model::ElementType::Float64, 3, points.count));
  keep_geometry(*mesh, "points", ids, block, std::as_bytes(given),
                array_of(model::ElementType::Int64, 1, static_cast<int64_t>(given.size())));
}

void SharedData::share_cells(const std::string& name, int32_t block, const pillion_cells& cells) {
  const auto field = model::topology_of(name);
  const auto* mesh = sharing_.accept_geometry(name, "cells", field, block);
  if (mesh == nullptr) return;
  std::span<const int64_t> ids;
  if (const auto* known = sharing_.find(model::point_ids_of(name), block))
    ids = {static_cast<const int64_t*>(known->data), static_cast<size_t>(known->extents[0])};
  try {
    const auto bytes = model::to_bytes(cells, ids);
    // Points may come later: whether there are as many is found when the block is published.
    const auto fault = model::fault_of(model::read_topology(bytes), model::unknown_count,
                                       mesh->axes, mesh->patches.size());
    if (!fault.empty()) return sharing_.note_geometry(name, "cells", block, fault);
    keep_geometry(*mesh, "cells", field, block, bytes,
                  array_of(model::ElementType::Uint8, 1, static_cast<int64_t>(bytes.size())));
  } catch (const Error& e) {
    if (e.code() != ErrorCode::Sharing) throw;
    sharing_.note_geometry(name, "cells", block, e.what());
  }
}

}  // namespace pillion::simulation

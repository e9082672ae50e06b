// SPDX-License-Identifier: BSD-3-Clause
// Checking what ranks share together, and keeping the memory that the session has given.
#include "simulation/shared_data.hpp"

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "model/geometry.hpp"
#include "redistribution/coverage.hpp"

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

void SharedData::check(const std::set<std::string>& fields,
                       const comm::Communicator& simulation) const {
  comm::together(simulation, [&] {
    sharing_.throw_fault();
    (void)sharing_.publication(fields, 0, 0);
  });
  std::vector<int32_t> is_shared;
  for (const auto& name : fields) is_shared.push_back(sharing_.has(name) ? 1 : 0);
  simulation.reduce(is_shared.data(), static_cast<int64_t>(is_shared.size()), comm::Operation::Max);
  comm::together(simulation, [&] {
    auto somewhere = is_shared.begin();
    for (const auto& name : fields) {
      const auto& mesh = catalogue_.mesh_of(name);
      if (*somewhere++ == 0)
        base::fail(ErrorCode::Sharing, "field '{}' is needed, but no rank shares it", name);
      if (mesh.kind == model::MeshKind::Particles && !sharing_.domains().contains(mesh.name))
        base::fail(ErrorCode::Sharing,
                   "mesh '{}' has no domain; call pillion_set_domain before the first step",
                   mesh.name);
    }
  });
  std::set<std::string> without_faces;
  for (const auto& name : fields) {
    const auto& mesh = catalogue_.mesh_of(name);
    if (mesh.kind == model::MeshKind::Rectilinear && mesh.faces.empty())
      without_faces.insert(mesh.name);
  }
  check_coordinates(without_faces, simulation);
  check_coverage(fields, simulation);
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

void SharedData::end_blocks(const std::string& field) {
  for (const int32_t block : sharing_.end_blocks(field)) allocations_.free(field, block);
}

}  // namespace pillion::simulation

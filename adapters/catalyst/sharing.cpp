// SPDX-License-Identifier: BSD-3-Clause
// How each kind of mesh is shared. Blocks are numbered in the order in which domains are listed.
#include "sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pillion/error.hpp>
#include <utility>

namespace pillion::catalyst {

namespace {

/// Whether the components of a field are the same distance apart, so that they are one array.
bool is_one_array(const std::vector<Array>& components) {
  const auto& first = components.front();
  const int64_t apart = components.size() > 1 ? components[1].data - first.data : 0;
  for (size_t c = 0; c < components.size(); ++c)
    if (components[c].data != first.data + static_cast<int64_t>(c) * apart ||
        components[c].stride != first.stride)
      return false;
  return apart % static_cast<int64_t>(size_of(first.type)) == 0;
}

bool is_regular(const std::vector<Array>& components) {
  return std::all_of(components.begin(), components.end(), [&](const Array& each) {
    return each.is_regular() && each.type == components.front().type &&
           each.stride == components.front().stride;
  });
}

/// The numbers of the values of all cells or points of a structured part. None if they follow each
/// other in memory.
std::vector<int64_t> values_of_grid(const Part& part, const Lattice& lattice, bool at_points) {
  bool is_packed = lattice.first == 0;
  int64_t step = 1;
  for (size_t a = 0; a < static_cast<size_t>(part.axes); ++a) {
    is_packed = is_packed && lattice.steps[a] == step;
    step *= part.cells[a] + (at_points ? 1 : 0);
  }
  if (is_packed) return {};
  return values_of_box({}, part.cells, part.axes, lattice, at_points);
}

FieldValues positions_of(const Part& part) {
  FieldValues out;
  out.at_points = true;
  out.components = part.coordinates;
  out.lattice = part.lattice_of_points;
  return out;
}

}  // namespace

void check(pillion_status status) {
  if (status != PILLION_OK) throw Error(static_cast<ErrorCode>(status), pillion_error_message());
}

void Sharing::set_coordinates() {
  for (const auto& [key, mesh] : plan_.meshes) {
    if (mesh.kind != PILLION_RECTILINEAR) continue;
    for (int32_t a = 0; a < mesh.axes; ++a) {
      const auto& faces = mesh.faces[static_cast<size_t>(a)];
      check(pillion_set_coordinates(session_, mesh.name.c_str(), a,
                                    static_cast<int64_t>(faces.size()), faces.data()));
    }
  }
}

std::vector<std::string> Sharing::share(const Description& description,
                                        const std::set<std::string>& used) {
  copies_.clear();
  tables_.clear();
  faults_.clear();
  for (const auto& name : std::exchange(open_, {})) pillion_end_blocks(session_, name.c_str());
  for (const auto& [key, mesh] : plan_.meshes) {
    Blocks blocks{.mesh = mesh, .parts = {}, .places = {}, .faults = {}};
    find(description, key, blocks);
    share_mesh(blocks, used);
  }
  return std::exchange(faults_, {});
}

void Sharing::find(const Description& description, const Key& key, Blocks& blocks) {
  for (const auto& fault : description.faults) {
    if (fault.key == key && !fault.field.empty()) blocks.faults.emplace(fault.field, fault.text);
    if (!fault.covers(key)) continue;
    note(fault.text);
    blocks.is_faulty = true;
  }
  const bool is_box =
      blocks.mesh.kind != PILLION_UNSTRUCTURED && blocks.mesh.kind != PILLION_PARTICLES;
  for (const auto& part : description.parts) {
    if (part.key != key) continue;
    try {
      if (part.form != blocks.mesh.form)
        refuse(fmt::format("'{}' is of another kind than at first", part.path));
      if (part.number_of_own() == 0) continue;
      if (is_box) blocks.places.push_back(place_of(part, blocks.mesh));
      blocks.parts.push_back(&part);
    } catch (const Error& problem) {
      note(problem.what());
      blocks.is_faulty = true;
    }
  }
}

void Sharing::share_mesh(const Blocks& blocks, const std::set<std::string>& used) {
  const auto& mesh = blocks.mesh;
  const bool is_used = used.contains(mesh.positions) ||
                       std::any_of(mesh.fields.begin(), mesh.fields.end(), [&](const auto& entry) {
                         return used.contains(entry.second.name);
                       });
  if (!is_used) return;
  if (mesh.kind == PILLION_UNSTRUCTURED) share_cells(blocks);
  for (const auto& [original, field] : mesh.fields)
    if (used.contains(field.name)) share_field(blocks, field.name, &original);
  const bool are_positions_used = mesh.kind == PILLION_CURVILINEAR || used.contains(mesh.positions);
  if (!mesh.positions.empty() && are_positions_used) share_field(blocks, mesh.positions, nullptr);
}

void Sharing::share_cells(const Blocks& blocks) {
  const char* name = blocks.mesh.name.c_str();
  begin_blocks(blocks.mesh.name);
  for (size_t n = 0; n < blocks.parts.size(); ++n) {
    const Part& part = *blocks.parts[n];
    const auto block = static_cast<int32_t>(n);
    share_points(blocks.mesh, part, block);
    if (part.form == Form::Structured) tables_.push_back(cells_of_grid(part.axes, part.cells));
    auto cells = part.form == Form::Structured ? tables_.back().raw() : part.table.raw();
    cells.flags = part.flags.empty() ? nullptr : part.flags.data();
    check(pillion_share_cells(session_, name, block, &cells));
  }
  end_blocks(blocks.mesh.name);
}

void Sharing::begin_blocks(const std::string& name) {
  check(pillion_begin_blocks(session_, name.c_str()));
  open_.insert(name);
}

void Sharing::end_blocks(const std::string& name) {
  open_.erase(name);
  check(pillion_end_blocks(session_, name.c_str()));
}

void Sharing::share_points(const PlannedMesh& mesh, const Part& part, int32_t block) {
  const auto& along = part.coordinates;
  pillion_points points{};
  points.size = sizeof points;
  points.count = part.number_of_points();
  points.dimensions = static_cast<int32_t>(along.size());
  const bool has_one_type = std::all_of(along.begin(), along.end(), [&](const Array& each) {
    return each.is_real() && each.type == along.front().type;
  });
  if (part.form != Form::Structured && has_one_type && is_regular(along)) {
    for (size_t d = 0; d < along.size(); ++d) points.data[d] = along[d].data;
    points.stride = along.front().stride / static_cast<int64_t>(size_of(along.front().type));
    points.type = along.front().type;
    check(pillion_share_points(session_, mesh.name.c_str(), block, &points));
    return;
  }
  const FieldValues positions = positions_of(part);
  Values values{
      .field = positions, .chosen = {}, .count = points.count, .components = points.dimensions};
  if (part.form == Form::Structured)
    values.chosen = values_of_grid(part, part.lattice_of_points, true);
  const auto view = gather(values, PILLION_FLOAT64);
  points.data[0] = view.data;
  points.stride = points.dimensions;
  points.type = PILLION_FLOAT64;
  check(pillion_share_points(session_, mesh.name.c_str(), block, &points));
}

void Sharing::share_field(const Blocks& blocks, const std::string& name,
                          const std::string* original) {
  const auto& mesh = blocks.mesh;
  begin_blocks(name);
  bool is_faulty = blocks.is_faulty;
  for (size_t n = 0; n < blocks.parts.size(); ++n) {
    const Part& part = *blocks.parts[n];
    FieldValues positions;
    const FieldValues* values = &positions;
    if (original == nullptr) {
      positions = positions_of(part);
    } else {
      const auto found = std::find_if(part.fields.begin(), part.fields.end(),
                                      [&](const auto& field) { return field.name == *original; });
      if (found == part.fields.end()) continue;
      values = &*found;
      if (const auto facts = facts_of(*values);
          !facts.has_form_of(mesh.fields.at(*original).facts)) {
        note(fmt::format("field '{}' of '{}' is {} now, and was {} at first", *original, part.path,
                         facts.form(), mesh.fields.at(*original).facts.form()));
        is_faulty = true;
        continue;
      }
    }
    const bool is_box = mesh.kind != PILLION_UNSTRUCTURED && mesh.kind != PILLION_PARTICLES;
    const pillion_type type =
        original == nullptr ? mesh.type_of_positions : values->components.front().type;
    if (is_box) share_box(blocks, n, name, *values);
    else share_items(blocks, n, name, *values, type);
  }
  const auto fault = original == nullptr ? blocks.faults.end() : blocks.faults.find(*original);
  if (fault != blocks.faults.end()) {
    note(fault->second);
    is_faulty = true;
  }
  // Pillion leaves the publication of an open field out, on all ranks.
  if (!is_faulty) end_blocks(name);
}

void Sharing::share_box(const Blocks& blocks, size_t number, const std::string& name,
                        const FieldValues& field) {
  const Part& part = *blocks.parts[number];
  const Place& place = blocks.places[number];
  const auto block = static_cast<int32_t>(number);
  const auto axes = static_cast<size_t>(part.axes);
  const bool is_positions = name == blocks.mesh.positions;
  const auto given = static_cast<int32_t>(field.components.size());
  const int32_t components = is_positions ? blocks.mesh.dimensions : given;
  const Array& first = field.components.front();
  const auto size = static_cast<int64_t>(size_of(first.type));
  std::array<int64_t, 4> strides{};
  const bool converts =
      is_positions && (first.type != blocks.mesh.type_of_positions || components != given);
  if (converts || !is_regular(field.components)) {
    const Values values{field,
                        values_of_box(part.lo, part.hi, part.axes, field.lattice, field.at_points),
                        0, components};
    const auto view = gather(values, converts ? blocks.mesh.type_of_positions : first.type);
    check(pillion_share_box_level(session_, name.c_str(), place.level, block, place.lo.data(),
                                  place.hi.data(), view.data, view.type, nullptr));
    return;
  }
  for (size_t a = 0; a < axes; ++a) strides[a] = field.lattice.steps[a] * (first.stride / size);
  const int64_t start = field.lattice.at(part.lo) * first.stride;
  if (is_one_array(field.components)) {
    const int64_t apart = components > 1 ? field.components[1].data - first.data : size;
    strides[axes] = apart / size;
    check(pillion_share_box_level(session_, name.c_str(), place.level, block, place.lo.data(),
                                  place.hi.data(), first.data + start, first.type, strides.data()));
    return;
  }
  std::vector<const void*> data;
  for (const auto& each : field.components) data.push_back(each.data + start);
  const pillion_arrays arrays{sizeof(pillion_arrays), data.data(), first.type, components,
                              strides.data()};
  check(pillion_share_box_components(session_, name.c_str(), place.level, block, place.lo.data(),
                                     place.hi.data(), &arrays));
}

void Sharing::share_items(const Blocks& blocks, size_t number, const std::string& name,
                          const FieldValues& field, pillion_type type) {
  const Part& part = *blocks.parts[number];
  const auto& mesh = blocks.mesh;
  const bool is_positions = name == mesh.positions;
  const auto block = static_cast<int32_t>(number);
  const auto components = static_cast<int32_t>(is_positions ? 3 : field.components.size());
  Values values{.field = field, .chosen = {}, .count = 0, .components = components};
  values.count = field.at_points ? part.number_of_points() : part.number_of_cells();
  if (part.form == Form::Structured)
    values.chosen = values_of_grid(part, field.lattice, field.at_points);
  if (part.form == Form::Points && !part.flags.empty()) {
    for (int64_t i = 0; i < values.count; ++i)
      if (part.flags[static_cast<size_t>(i)] == 0) values.chosen.push_back(i);
    values.count = static_cast<int64_t>(values.chosen.size());
    if (values.count == 0) return;
  }
  const Array& first = field.components.front();
  const bool as_it_is = values.chosen.empty() && is_regular(field.components) &&
                        first.type == type &&
                        components == static_cast<int32_t>(field.components.size());
  if (!as_it_is) return share_view(mesh, name, block, values.count, gather(values, type));
  const auto size = static_cast<int64_t>(size_of(first.type));
  if (is_one_array(field.components)) {
    pillion_view view{first.data, first.type, components > 1 ? 2 : 1, {}, {}};
    view.extents[0] = values.count;
    view.extents[1] = components;
    view.strides[0] = first.stride;
    view.strides[1] = components > 1 ? field.components[1].data - first.data : size;
    return share_view(mesh, name, block, values.count, view);
  }
  std::vector<const void*> data;
  for (const auto& each : field.components) data.push_back(each.data);
  const int64_t stride = first.stride / size;
  const pillion_arrays arrays{sizeof(pillion_arrays), data.data(), first.type, components, &stride};
  check(pillion_share_components(session_, name.c_str(), block, values.count, &arrays));
}

void Sharing::share_view(const PlannedMesh& mesh, const std::string& name, int32_t block,
                         int64_t count, const pillion_view& view) {
  const auto share =
      mesh.kind == PILLION_PARTICLES ? &pillion_share_particles_view : &pillion_share_values_view;
  check(share(session_, name.c_str(), block, count, &view, PILLION_COMPONENTS_LAST));
}

pillion_view Sharing::gather(const Values& values, pillion_type type) {
  const auto& from = values.field.components;
  const int64_t count =
      values.chosen.empty() ? values.count : static_cast<int64_t>(values.chosen.size());
  const auto size = size_of(type);
  // Components that the simulation lacks stay 0.
  auto& bytes = copies_.emplace_back(static_cast<size_t>(count) *
                                     static_cast<size_t>(values.components) * size);
  std::byte* to = bytes.data();
  for (int64_t n = 0; n < count; ++n) {
    const int64_t index = values.chosen.empty() ? n : values.chosen[static_cast<size_t>(n)];
    for (size_t c = 0; c < static_cast<size_t>(values.components); ++c, to += size) {
      if (c >= from.size()) continue;
      const double real = from[c].type == type ? 0 : from[c].real(index);
      const auto single = static_cast<float>(real);
      if (from[c].type == type) std::memcpy(to, from[c].at(index), size);
      else if (type == PILLION_FLOAT64) std::memcpy(to, &real, size);
      else std::memcpy(to, &single, size);
    }
  }
  pillion_view view{bytes.data(), type, values.components > 1 ? 2 : 1, {}, {}};
  view.extents[0] = count;
  view.extents[1] = values.components;
  view.strides[1] = static_cast<int64_t>(size);
  view.strides[0] = values.components * view.strides[1];
  return view;
}

}  // namespace pillion::catalyst

// SPDX-License-Identifier: BSD-3-Clause
// Kinds, names, boxes and levels of meshes, and the text of the catalogue.
#include "plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <pillion/error.hpp>
#include <set>

namespace pillion::catalyst {

namespace {

/// Along an axis.
constexpr double most_cells = 1e12;

std::string unused(std::string name, std::set<std::string>& taken) {
  std::string out = name;
  for (int number = 2; !taken.insert(out).second; ++number)
    out = fmt::format("{}_{}", name, number);
  return out;
}

/// The channel, with its block and its topology if the channel has several.
std::string mesh_name(const Key& key, const Facts& facts) {
  std::set<std::string> blocks, topologies;
  for (const auto& [other, mesh] : facts.meshes) {
    if (other.channel != key.channel) continue;
    blocks.insert(other.block);
    if (other.block == key.block) topologies.insert(other.topology);
  }
  std::string name = key.channel;
  if (blocks.size() > 1 && !key.block.empty()) name += "_" + key.block;
  if (topologies.size() > 1) name += "_" + key.topology;
  return plain(name);
}

/// In reals, because domains may be far apart.
double volume_of(const std::array<int64_t, 3>& cells) {
  return static_cast<double>(cells[0]) * static_cast<double>(cells[1]) *
         static_cast<double>(cells[2]);
}

/// Whether domains with so many cells fill the mesh; refuses domains that overlap.
bool is_filled(const Key& key, int64_t cells, const PlannedMesh& mesh) {
  const double all = volume_of(mesh.cells), own = static_cast<double>(cells);
  if (own > all)
    refuse(
        fmt::format("the domains of channel '{}' have {} cells together, but the box around them "
                    "has {}: they overlap; mark cells that another domain owns in a field "
                    "'vtkGhostType' or 'ascent_ghosts'",
                    key.channel, cells, all));
  return own == all;
}

void plan_levels(const Key& key, const MeshFacts& facts, int64_t levels, PlannedMesh& mesh) {
  for (const auto& level : facts.levels) mesh.spacings.push_back(level.spacing);
  for (size_t l = 1; l < facts.levels.size(); ++l) {
    std::array<int64_t, 3> ratio{1, 1, 1};
    std::array<double, 3> back{};
    const auto &coarse = mesh.spacings[l - 1], &fine = mesh.spacings[l];
    for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
      ratio[a] = std::max<int64_t>(1, std::llround(coarse[a] / fine[a]));
      back[a] = coarse[a] / static_cast<double>(ratio[a]);
    }
    if (!is_same_spacing(back, fine, mesh.axes))
      refuse(
          fmt::format("domains of channel '{}' have cells of the sizes {} and {}, which are no "
                      "levels of refinement: the ratio must be a whole number",
                      key.channel, coarse, fine));
    mesh.ratios.push_back(ratio);
  }
  if (!facts.is_nested) return;
  while (static_cast<int64_t>(mesh.spacings.size()) < levels) {
    std::array<int64_t, 3> ratio{1, 1, 1};
    for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) ratio[a] = 2;
    if (!mesh.ratios.empty()) ratio = mesh.ratios.back();
    auto next = mesh.spacings.back();
    for (size_t a = 0; a < 3; ++a) next[a] /= static_cast<double>(ratio[a]);
    mesh.ratios.push_back(ratio);
    mesh.spacings.push_back(next);
  }
}

void plan_uniform(const Key& key, const MeshFacts& facts, int64_t levels, PlannedMesh& mesh) {
  mesh.kind = PILLION_UNIFORM;
  if (facts.levels.empty()) refuse(fmt::format("channel '{}' has ghost cells only", key.channel));
  const auto& coarsest = facts.levels.front();
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    const double cells = (coarsest.hi[a] - coarsest.lo[a]) / coarsest.spacing[a];
    if (!(cells < most_cells))
      refuse(fmt::format("the domains of channel '{}' reach from {} to {} in cells of {}: too far",
                         key.channel, coarsest.lo[a], coarsest.hi[a], coarsest.spacing[a]));
    mesh.cells[a] = std::llround(cells);
    mesh.origin[a] = coarsest.lo[a];
    mesh.length[a] = static_cast<double>(mesh.cells[a]) * coarsest.spacing[a];
  }
  mesh.is_whole = is_filled(key, coarsest.cells, mesh);
  plan_levels(key, facts, levels, mesh);
}

void plan_rectilinear(const Key& key, const MeshFacts& facts, PlannedMesh& mesh) {
  mesh.kind = PILLION_RECTILINEAR;
  if (facts.cells == 0) refuse(fmt::format("channel '{}' has ghost cells only", key.channel));
  mesh.faces = facts.faces;
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a)
    mesh.cells[a] = static_cast<int64_t>(facts.faces[a].size()) - 1;
  mesh.is_whole = is_filled(key, facts.cells, mesh);
}

/// Curvilinear if each domain says where in the whole it lies and they fill it; else its cells are
/// those of an unstructured mesh.
void plan_structured(const Key& key, const MeshFacts& facts, PlannedMesh& mesh) {
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a)
    mesh.cells[a] = facts.hi[a] - facts.lo[a];
  mesh.first = facts.lo;
  mesh.kind = PILLION_UNSTRUCTURED;
  mesh.dimensions = facts.axes;
  if (!facts.has_index || facts.axes < 2) return;
  if (!is_filled(key, facts.cells, mesh)) return;
  mesh.kind = PILLION_CURVILINEAR;
  mesh.dimensions = facts.dimensions;
}

PlannedMesh plan_of(const Key& key, const Facts& all, const MeshFacts& facts, int64_t levels) {
  PlannedMesh mesh;
  mesh.name = mesh_name(key, all);
  mesh.form = facts.form;
  mesh.axes = facts.axes;
  mesh.units = facts.units;
  mesh.dimensions = facts.dimensions;
  mesh.type_of_positions = facts.coordinates;
  switch (facts.form) {
    case Form::Uniform: plan_uniform(key, facts, levels, mesh); break;
    case Form::Rectilinear: plan_rectilinear(key, facts, mesh); break;
    case Form::Structured: plan_structured(key, facts, mesh); break;
    case Form::Unstructured: mesh.kind = PILLION_UNSTRUCTURED; break;
    case Form::Points: mesh.kind = PILLION_PARTICLES; break;
  }
  if (mesh.kind == PILLION_PARTICLES) mesh.positions = "position";
  if (mesh.kind == PILLION_CURVILINEAR) mesh.positions = "coordinates";
  for (const auto& [name, field] : facts.fields) mesh.fields[name] = {plain(name), field};
  return mesh;
}

/// Leaves out what Pillion does not take.
void drop_fields(const Key& key, const Facts& facts, PlannedMesh& mesh,
                 std::vector<std::string>& warnings) {
  std::set<std::string> shown;
  for (const auto& fault : facts.faults) {
    if (fault.key != key || fault.field.empty()) continue;
    mesh.fields.erase(fault.field);
    // Many domains have the same fault.
    if (shown.insert(fault.field).second)
      warnings.push_back(fmt::format("{}; field '{}' is left out", fault.text, fault.field));
  }
  const bool is_box = mesh.kind == PILLION_UNIFORM || mesh.kind == PILLION_RECTILINEAR;
  if (!is_box || (mesh.is_whole && mesh.spacings.size() < 2)) return;
  std::erase_if(mesh.fields, [&](const auto& entry) {
    if (!entry.second.facts.at_points) return false;
    warnings.push_back(
        fmt::format("field '{}' of mesh '{}' is left out: meshes with levels, or that "
                    "do not fill their box, have values at cells only",
                    entry.first, mesh.name));
    return true;
  });
}

/// Names that several meshes have get the mesh's in front.
void name_fields(Plan& plan) {
  std::map<std::string, int> uses;
  for (const auto& [key, mesh] : plan.meshes) {
    for (const auto& [name, field] : mesh.fields) ++uses[field.name];
    if (!mesh.positions.empty()) ++uses[mesh.positions];
  }
  std::set<std::string> taken;
  for (auto& [key, mesh] : plan.meshes) {
    const auto name = [&](std::string& field) {
      field = unused(uses[field] > 1 ? fmt::format("{}_{}", mesh.name, field) : field, taken);
    };
    for (auto& [original, field] : mesh.fields) name(field.name);
    if (!mesh.positions.empty()) name(mesh.positions);
  }
}

}  // namespace

std::string plain(std::string name) {
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      c = '_';
  return name.empty() ? "_" : name;
}

Plan plan_of(const Facts& facts, int64_t levels) {
  Plan plan;
  plan.scalars = facts.scalars;
  std::set<std::string> taken, shown;
  for (const auto& fault : facts.faults) {
    const auto fits = [&](const auto& mesh) { return mesh.first == fault.key; };
    const bool is_of_known = std::any_of(facts.meshes.begin(), facts.meshes.end(), fits);
    if (fault.field.empty()) shown.insert(fault.text);
    else if (!is_of_known) shown.insert(fault.text);
  }
  plan.warnings.assign(shown.begin(), shown.end());
  for (const auto& [key, mesh] : facts.meshes) {
    const bool is_faulty = std::any_of(facts.faults.begin(), facts.faults.end(),
                                       [&](const auto& fault) { return fault.covers(key); });
    if (is_faulty) continue;
    try {
      PlannedMesh planned = plan_of(key, facts, mesh, levels);
      planned.name = unused(planned.name, taken);
      drop_fields(key, facts, planned, plan.warnings);
      plan.meshes.emplace(key, std::move(planned));
    } catch (const Error& problem) {
      plan.warnings.emplace_back(problem.what());
    }
  }
  name_fields(plan);
  return plan;
}

namespace {

/// A text in YAML; a dollar sign would begin the name of a parameter.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '$') out += c;
  }
  return nlohmann::json(out).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class T>
std::string list(const std::array<T, 3>& values, int32_t axes) {
  std::vector<std::string> texts;
  for (size_t a = 0; a < static_cast<size_t>(axes); ++a) {
    if constexpr (std::is_same_v<T, double>) texts.push_back(fmt::format("{:.17g}", values[a]));
    else texts.push_back(std::to_string(values[a]));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string entry_of(const PlannedMesh& mesh) {
  const std::string units =
      mesh.units.empty() ? "" : fmt::format(", units: {}", quoted(mesh.units));
  const std::string covered = mesh.is_whole ? "" : ", covered: partial";
  switch (mesh.kind) {
    case PILLION_PARTICLES:
      return fmt::format("{{kind: particles{}{}}}", mesh.axes < 3 ? ", dimensions: 2" : "", units);
    case PILLION_UNSTRUCTURED:
      return fmt::format("{{kind: unstructured, dimensions: {}{}}}", mesh.dimensions, units);
    case PILLION_CURVILINEAR:
      return fmt::format("{{kind: curvilinear, cells: {}, coordinates: {}{}}}",
                         list(mesh.cells, mesh.axes), quoted(mesh.positions), units);
    case PILLION_RECTILINEAR:
      return fmt::format("{{kind: rectilinear, cells: {}{}{}}}", list(mesh.cells, mesh.axes),
                         covered, units);
    default: break;
  }
  std::string levels;
  if (!mesh.ratios.empty()) {
    std::vector<std::string> ratios;
    for (const auto& ratio : mesh.ratios) ratios.push_back(list(ratio, mesh.axes));
    levels = fmt::format(", levels: {{count: {}, ratio: [{}]}}", mesh.spacings.size(),
                         fmt::join(ratios, ", "));
  }
  return fmt::format("{{kind: uniform, cells: {}, origin: {}, length: {}{}{}{}}}",
                     list(mesh.cells, mesh.axes), list(mesh.origin, mesh.axes),
                     list(mesh.length, mesh.axes), levels, covered, units);
}

std::string entry_of(const PlannedMesh& mesh, const FieldFacts& field) {
  std::string out = fmt::format("{{mesh: {}, type: {}", quoted(mesh.name), name_of(field.type));
  if (field.components > 1) out += fmt::format(", components: {}", field.components);
  if (field.at_points && mesh.kind != PILLION_PARTICLES) out += ", centering: point";
  if (!field.units.empty()) out += fmt::format(", units: {}", quoted(field.units));
  return out + "}";
}

}  // namespace

/// Names are in quotes, because a plain `null` is no name in YAML.
std::string catalogue_of(const Plan& plan) {
  std::string meshes, fields, scalars;
  for (const auto& name : plan.scalars) scalars += fmt::format("  {}: {{}}\n", quoted(name));
  for (const auto& [key, mesh] : plan.meshes) {
    meshes += fmt::format("  {}: {}\n", quoted(mesh.name), entry_of(mesh));
    for (const auto& [name, field] : mesh.fields)
      fields += fmt::format("  {}: {}\n", quoted(field.name), entry_of(mesh, field.facts));
    if (mesh.positions.empty()) continue;
    const bool is_particles = mesh.kind == PILLION_PARTICLES;
    const FieldFacts positions{mesh.type_of_positions, is_particles ? 3 : mesh.dimensions, true,
                               mesh.units};
    fields += fmt::format("  {}: {}\n", quoted(mesh.positions), entry_of(mesh, positions));
  }
  return fmt::format("meshes:\n{}fields:{}\n{}{}{}", meshes, fields.empty() ? " {}" : "", fields,
                     scalars.empty() ? "" : "scalars:\n", scalars);
}

namespace {

Place place_of_uniform(const Part& part, const PlannedMesh& mesh) {
  Place place;
  const auto found = std::find_if(
      mesh.spacings.begin(), mesh.spacings.end(),
      [&](const auto& each) { return is_same_spacing(each, part.spacing, mesh.axes); });
  if (found == mesh.spacings.end())
    refuse(
        fmt::format("'{}' has cells of the size {}, which no level of mesh '{}' had at first; set "
                    "'catalyst/pillion/levels' to the largest number of levels",
                    part.path, part.spacing, mesh.name));
  place.level = static_cast<int32_t>(found - mesh.spacings.begin());
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    const double exact = (part.origin[a] - mesh.origin[a]) / (*found)[a];
    const bool is_near = std::abs(exact) < most_cells;
    const int64_t first = is_near ? std::llround(exact) : 0;
    if (!is_same(exact, static_cast<double>(first), 1e3))
      refuse(fmt::format("'{}' begins at {}, which is between two cells of mesh '{}'", part.path,
                         part.origin[a], mesh.name));
    place.lo[a] = first + part.lo[a];
    place.hi[a] = first + part.hi[a];
  }
  return place;
}

Place place_of_rectilinear(const Part& part, const PlannedMesh& mesh) {
  Place place;
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    const auto& all = mesh.faces[a];
    const auto first = part.faces[a].begin() + part.lo[a];
    const auto last = part.faces[a].begin() + part.hi[a];
    const double width = (all.back() - all.front()) / static_cast<double>(all.size());
    auto at = std::lower_bound(all.begin(), all.end(), *first - 1e-9 * width);
    place.lo[a] = at - all.begin();
    for (auto face = first; face <= last; ++face, ++at)
      if (at == all.end() || !is_same(*at, *face, 1e-3 * width))
        refuse(
            fmt::format("'{}' has a face at {} along axis {} that mesh '{}' does not have there: "
                        "the coordinates of domains must fit together, and stay as they are",
                        part.path, *face, a, mesh.name));
    place.hi[a] = place.lo[a] + (part.hi[a] - part.lo[a]);
  }
  return place;
}

}  // namespace

Place place_of(const Part& part, const PlannedMesh& mesh) {
  if (part.axes != mesh.axes)
    refuse(fmt::format("'{}' has {} axes, and mesh '{}' {}", part.path, part.axes, mesh.name,
                       mesh.axes));
  if (part.form == Form::Uniform) return place_of_uniform(part, mesh);
  if (part.form == Form::Rectilinear) return place_of_rectilinear(part, mesh);
  if (!part.index)
    refuse(fmt::format("'{}/elements/origin' is missing, which domains of mesh '{}' had at first",
                       part.path, mesh.name));
  Place place;
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    place.lo[a] = (*part.index)[a] + part.lo[a] - mesh.first[a];
    place.hi[a] = (*part.index)[a] + part.hi[a] - mesh.first[a];
  }
  return place;
}

}  // namespace pillion::catalyst

// SPDX-License-Identifier: BSD-3-Clause
// Reading which fields are written, and under which names.
#include "records.hpp"

#include <algorithm>
#include <set>

#include "../../common/names.hpp"
#include "../../common/options.hpp"

namespace pillion::stages::write_openpmd {
namespace {

constexpr const char* suffix = "_lvl";

bool is_word(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

void expect_mesh(const pillion_field_description& field, const stage::Value& place) {
  const std::string mesh = "mesh '" + std::string(field.mesh) + "'";
  constexpr const char* others = "; write_hdf5 and write_raw take fields of any mesh";
  if (field.mesh_kind == PILLION_PARTICLES) return;
  if (field.mesh_kind == PILLION_RECTILINEAR)
    place.fail(mesh + " is rectilinear, and meshes of openPMD have one spacing along each axis" +
               others);
  if (field.mesh_kind != PILLION_UNIFORM)
    place.fail(mesh + " is neither uniform nor particles, and openPMD holds no others" + others);
  if (field.metric != PILLION_CARTESIAN)
    place.fail(mesh + " has angles along an axis, and openPMD has one unit for all axes" + others);
}

/// What `records` calls the fields.
std::string record_name(const stage::Setup& setup, const std::string& field,
                        const stage::Value& place) {
  const auto names = setup["records"];
  const auto given = names ? names.find(field) : names;
  const std::string name = given ? given.text() : field;
  if (!is_word(name))
    (given ? given : place)
        .fail("openPMD allows letters, digits and underscores in names, and '" + name +
              "' has others; use `records: {" + in_quotes(field) + ": NAME}`");
  return name;
}

Group& group_of(std::vector<Group>& groups, const pillion_field_description& field) {
  for (auto& group : groups)
    if (std::string(group.mesh.mesh) == field.mesh) return group;
  return groups.emplace_back(Group{field, {}, {}});
}

/// Meshes share one folder of names, species have one each.
void check_names(const std::vector<Group>& groups, const stage::Value& place) {
  std::set<std::string> taken;
  for (const auto& group : groups)
    for (const auto& record : group.records)
      for (int32_t level = 0; level < std::max(1, group.mesh.levels); ++level) {
        const auto name = Part{&group, level, {}, {}, {}, {}, {}, {}, {}}.name(record);
        const auto folder = group.is_particles() ? group.mesh.mesh + std::string("/") : "";
        if (!taken.insert(folder + name).second)
          place.fail("two fields would be called '" + name + "'; rename one with `records`");
      }
}

void check_species(const Group& group, const stage::Value& place) {
  const std::string mesh = "mesh '" + std::string(group.mesh.mesh) + "'";
  if (!is_word(group.mesh.mesh))
    place.fail("openPMD allows letters, digits and underscores in names of species; " + mesh +
               " has others");
  const Record* position = nullptr;
  for (const auto& record : group.records) {
    if (record.name == "position") position = &record;
    if (record.name == "positionOffset")
      place.fail(
          "'positionOffset' has a meaning of its own in openPMD; rename the field with "
          "`records`");
  }
  if (position == nullptr)
    place.fail("particles of openPMD have positions, and none is listed for " + mesh +
               "; list the field, and unless it is called position name it with `records: {FIELD: "
               "position}`");
  if (position->field.components != 3)
    place.fail("field '" + std::string(position->field.name) + "' has " +
               std::to_string(position->field.components) + " components; positions have 3");
}

}  // namespace

std::vector<std::string> Record::components() const {
  if (field.components == 1) return {};
  const bool is_flat =
      field.mesh_kind == PILLION_PARTICLES && field.axes == 2 && name == "position";
  const int32_t count = is_flat ? 2 : field.components;
  std::vector<std::string> out;
  for (int32_t c = 0; c < count; ++c)
    out.push_back(count <= 3 ? std::string(1, "xyz"[c]) : std::to_string(c));
  return out;
}

std::vector<Group> groups_of(const stage::Setup& setup) {
  const auto list = setup["fields"];
  std::vector<Group> groups;
  std::set<std::string> listed;
  for (const auto& name : list.texts()) {
    if (!listed.insert(name).second) list.fail("field '" + name + "' is listed twice");
    const auto field = setup.field(name, list);
    expect_mesh(field, list);
    auto& group = group_of(groups, field);
    group.fields.push_back(name);
    group.records.push_back({record_name(setup, name, list), field});
  }
  if (groups.empty()) list.fail("no fields are listed");
  const auto names = setup["records"];
  for (int64_t i = 0; names && i < names.size(); ++i)
    if (!listed.contains(names.key(i)))
      names[i].fail("'" + names.key(i) + "' is not among the fields that are written");
  for (const auto& group : groups)
    if (group.is_particles()) check_species(group, list);
  check_names(groups, list);
  return groups;
}

std::string contents_of(const std::vector<Group>& groups) {
  std::string out;
  for (const auto& group : groups) {
    out += "mesh " + std::string(group.mesh.mesh);
    for (int32_t d = 0; !group.is_particles() && d < group.mesh.axes; ++d)
      out += " " + std::to_string(group.mesh.cells[d]);
    for (const auto& record : group.records)
      out += ", " + record.name + " of type " + std::to_string(record.field.type) + " x " +
             std::to_string(record.field.components);
    out += ";";
  }
  return out;
}

std::string Part::name(const Record& record) const {
  return level == 0 ? record.name : record.name + suffix + std::to_string(level);
}

std::vector<Dataset> datasets_of(const Part& part) {
  const std::string folder =
      part.group->is_particles() ? "particles/" + std::string(part.group->mesh.mesh) : "fields";
  std::vector<Dataset> out;
  for (const auto& record : part.group->records) {
    const std::string path = folder + "/" + part.name(record);
    const auto components = record.components();
    if (components.empty()) out.push_back({path, &record, 0});
    for (size_t c = 0; c < components.size(); ++c)
      out.push_back({path + "/" + components[c], &record, static_cast<int32_t>(c)});
  }
  return out;
}

}  // namespace pillion::stages::write_openpmd

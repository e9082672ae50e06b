// SPDX-License-Identifier: BSD-3-Clause
// Facts of domains, how they merge, and their text, which is JSON.
#include "facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pillion::catalyst {

using nlohmann::json;

namespace {

const char* form_name(Form form) {
  static constexpr const char* names[] = {"",           "uniform",      "rectilinear",
                                          "structured", "unstructured", "points"};
  return names[static_cast<size_t>(form)];
}

/// One text for each mesh or field is enough, and a run with a million faulty domains must not send
/// all of theirs. The least is the same whatever the order is.
void add_fault(Facts& facts, Fault fault) {
  const auto known = facts.faults.lower_bound({fault.key, fault.field, ""});
  const bool is_known =
      known != facts.faults.end() && known->key == fault.key && known->field == fault.field;
  if (is_known && known->text <= fault.text) return;
  if (is_known) facts.faults.erase(known);
  facts.faults.insert(std::move(fault));
}

/// The ascending coordinates of both. Those that are the same up to rounding come once.
std::vector<double> united(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  if (all.size() < 2) return all;
  const double width = (all.back() - all.front()) / static_cast<double>(all.size());
  std::vector<double> out;
  for (const double value : all)
    if (out.empty() || !is_same(out.back(), value, 1e-3 * width)) out.push_back(value);
  return out;
}

LevelFacts level_of(const Part& part) {
  LevelFacts level{.spacing = part.spacing, .cells = part.number_of_own()};
  for (size_t a = 0; a < static_cast<size_t>(part.axes); ++a) {
    level.lo[a] = part.origin[a] + static_cast<double>(part.lo[a]) * part.spacing[a];
    level.hi[a] = part.origin[a] + static_cast<double>(part.hi[a]) * part.spacing[a];
  }
  return level;
}

void add_level(MeshFacts& mesh, const LevelFacts& level) {
  for (auto& known : mesh.levels) {
    if (!is_same_spacing(known.spacing, level.spacing, mesh.axes)) continue;
    for (size_t a = 0; a < 3; ++a) {
      // Ranks differ in rounding; the least is the same whatever the order is.
      known.spacing[a] = std::min(known.spacing[a], level.spacing[a]);
      known.lo[a] = std::min(known.lo[a], level.lo[a]);
      known.hi[a] = std::max(known.hi[a], level.hi[a]);
    }
    known.cells += level.cells;
    return;
  }
  mesh.levels.push_back(level);
  std::sort(mesh.levels.begin(), mesh.levels.end(), [](const auto& a, const auto& b) {
    // Along an axis that is not refined, widths may differ in rounding.
    return a.spacing[0] * a.spacing[1] * a.spacing[2] > b.spacing[0] * b.spacing[1] * b.spacing[2];
  });
}

/// Of a type that positions may have; others are converted.
pillion_type type_of_coordinates(const Part& part) {
  const bool is_single =
      std::all_of(part.coordinates.begin(), part.coordinates.end(),
                  [](const Array& along) { return along.type == PILLION_FLOAT32; });
  return is_single ? PILLION_FLOAT32 : PILLION_FLOAT64;
}

MeshFacts facts_of(const Part& part) {
  MeshFacts facts;
  facts.form = part.form;
  facts.axes = part.axes;
  facts.units = part.units;
  for (const auto& field : part.fields) facts.fields[field.name] = catalyst::facts_of(field);
  facts.is_nested = part.is_nested;
  if (!part.coordinates.empty()) facts.coordinates = type_of_coordinates(part);
  if (!part.is_box()) {
    facts.axes = static_cast<int32_t>(part.coordinates.size());
    facts.dimensions = part.table.dimensions;
    return facts;
  }
  facts.cells = part.number_of_own();
  if (part.form == Form::Structured)
    facts.dimensions = static_cast<int32_t>(part.coordinates.size());
  facts.has_index = part.index.has_value();
  for (size_t a = 0; a < static_cast<size_t>(part.axes); ++a) {
    facts.lo[a] = part.lo[a] + (part.index ? (*part.index)[a] : 0);
    facts.hi[a] = part.hi[a] + (part.index ? (*part.index)[a] : 0);
    if (part.form == Form::Rectilinear && facts.cells > 0)
      facts.faces[a].assign(part.faces[a].begin() + part.lo[a],
                            part.faces[a].begin() + part.hi[a] + 1);
  }
  // A domain of ghosts alone says nothing about bounds.
  if (part.form == Form::Uniform && facts.cells > 0) facts.levels.push_back(level_of(part));
  return facts;
}

void merge_fields(const Key& key, MeshFacts& into, const MeshFacts& from, Facts& all) {
  for (const auto& [name, field] : from.fields) {
    const auto [at, is_new] = into.fields.try_emplace(name, field);
    if (is_new) continue;
    if (at->second.units.empty()) at->second.units = field.units;
    if (!field.has_form_of(at->second))
      add_fault(all, {key, name,
                      fmt::format("field '{}' of channel '{}' differs between domains: {}, and {}",
                                  name, key.channel, at->second.form(), field.form())});
  }
}

void merge(const Key& key, MeshFacts& into, const MeshFacts& from, Facts& all) {
  if (into.form != from.form || into.axes != from.axes) {
    add_fault(all,
              {key, "",
               fmt::format("topology '{}' of channel '{}' is {} with {} axes in one domain and "
                           "{} with {} in another; Pillion needs one kind for each mesh",
                           key.topology, key.channel, form_name(into.form), into.axes,
                           form_name(from.form), from.axes)});
    return;
  }
  const bool had_cells = into.cells > 0;
  into.dimensions = std::max(into.dimensions, from.dimensions);
  into.coordinates = std::max(into.coordinates, from.coordinates);
  into.is_nested = into.is_nested || from.is_nested;
  if (into.units.empty()) into.units = from.units;
  into.has_index = into.has_index && from.has_index;
  into.cells += from.cells;
  for (size_t a = 0; a < 3; ++a) {
    into.faces[a] = united(into.faces[a], from.faces[a]);
    if (from.cells == 0) continue;
    into.lo[a] = had_cells ? std::min(into.lo[a], from.lo[a]) : from.lo[a];
    into.hi[a] = had_cells ? std::max(into.hi[a], from.hi[a]) : from.hi[a];
  }
  for (const auto& level : from.levels) add_level(into, level);
  merge_fields(key, into, from, all);
}

void add(Facts& facts, const Key& key, const MeshFacts& mesh) {
  const auto [at, is_new] = facts.meshes.try_emplace(key, mesh);
  if (!is_new) merge(key, at->second, mesh, facts);
}

}  // namespace

std::string FieldFacts::form() const {
  return fmt::format("{} x {} at {}", components, name_of(type), at_points ? "points" : "cells");
}

FieldFacts facts_of(const FieldValues& field) {
  return {field.components.front().type, static_cast<int32_t>(field.components.size()),
          field.at_points, field.units};
}

bool is_same_spacing(const std::array<double, 3>& a, const std::array<double, 3>& b, int32_t axes) {
  for (size_t d = 0; d < static_cast<size_t>(axes); ++d)
    if (!is_same(a[d], b[d], std::min(a[d], b[d]))) return false;
  return true;
}

Facts facts_of(const Description& description) {
  Facts facts;
  for (const auto& part : description.parts) add(facts, part.key, facts_of(part));
  for (const auto& fault : description.faults) add_fault(facts, fault);
  return facts;
}

void merge(Facts& into, const Facts& from) {
  for (const auto& [key, mesh] : from.meshes) add(into, key, mesh);
  into.scalars.insert(from.scalars.begin(), from.scalars.end());
  for (const auto& fault : from.faults) add_fault(into, fault);
}

namespace {

json to_json(const Key& key) { return {key.channel, key.block, key.topology}; }

Key key_from(const json& from) { return {from.at(0), from.at(1), from.at(2)}; }

json to_json(const MeshFacts& mesh) {
  json levels = json::array(), fields = json::object();
  for (const auto& level : mesh.levels)
    levels.push_back({level.spacing, level.lo, level.hi, level.cells});
  for (const auto& [name, field] : mesh.fields)
    fields[name] = {field.type, field.components, field.at_points, field.units};
  return {{"form", mesh.form},
          {"axes", mesh.axes},
          {"dimensions", mesh.dimensions},
          {"units", mesh.units},
          {"levels", levels},
          {"faces", mesh.faces},
          {"lo", mesh.lo},
          {"hi", mesh.hi},
          {"cells", mesh.cells},
          {"fields", fields},
          {"has_index", mesh.has_index},
          {"coordinates", mesh.coordinates},
          {"is_nested", mesh.is_nested}};
}

MeshFacts mesh_from(const json& from) {
  MeshFacts mesh;
  mesh.form = from.at("form");
  mesh.axes = from.at("axes");
  mesh.dimensions = from.at("dimensions");
  mesh.units = from.at("units");
  for (const auto& level : from.at("levels"))
    mesh.levels.push_back({level.at(0), level.at(1), level.at(2), level.at(3)});
  mesh.faces = from.at("faces");
  mesh.lo = from.at("lo");
  mesh.hi = from.at("hi");
  mesh.cells = from.at("cells");
  mesh.has_index = from.at("has_index");
  mesh.coordinates = from.at("coordinates");
  mesh.is_nested = from.at("is_nested");
  for (const auto& [name, field] : from.at("fields").items())
    mesh.fields[name] = {field.at(0), field.at(1), field.at(2), field.at(3)};
  return mesh;
}

}  // namespace

std::string to_text(const Facts& facts) {
  json meshes = json::array(), faults = json::array();
  for (const auto& [key, mesh] : facts.meshes) meshes.push_back({to_json(key), to_json(mesh)});
  for (const auto& fault : facts.faults)
    faults.push_back({to_json(fault.key), fault.field, fault.text});
  // Names come from the simulation, and may not be UTF-8.
  return json({{"meshes", meshes}, {"scalars", facts.scalars}, {"faults", faults}})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Facts read_facts(const std::string& text) {
  const json from = json::parse(text);
  Facts facts;
  facts.scalars = from.at("scalars").get<std::set<std::string>>();
  for (const auto& entry : from.at("meshes"))
    facts.meshes[key_from(entry.at(0))] = mesh_from(entry.at(1));
  for (const auto& entry : from.at("faults"))
    facts.faults.insert({key_from(entry.at(0)), entry.at(1), entry.at(2)});
  return facts;
}

}  // namespace pillion::catalyst

// SPDX-License-Identifier: BSD-3-Clause
// Checking what a stage is given and what it asks for.
#include "stagehost/setup.hpp"

#include <pillion/stage.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "layout/division.hpp"
#include "products/table.hpp"

namespace pillion::stagehost {

using base::Value;
using layout::Kind;
using layout::Request;
using model::ElementType;

Value complete_parameters(const model::StageSpec& spec, const pillion_stage_table& table,
                          base::Diagnostics* mistakes) {
  Value complete = spec.parameters;
  std::vector<std::string> known = {"at"};
  for (int32_t p = 0; p < table.parameter_count; ++p) known.emplace_back(table.parameters[p].name);
  std::vector<std::string> meant;
  for (const auto& [key, value] : spec.parameters.entries)
    if (std::find(known.begin(), known.end(), key) == known.end())
      base::attempt(mistakes, [&, &key = key, &value = value] {
        meant.push_back(base::closest(key, known).value_or(""));
        value.fail_at_key(fmt::format("unknown key '{}' in stage '{}'{}", key, spec.name,
                                      base::suggestion(key, known)));
      });
  for (int32_t p = 0; p < table.parameter_count; ++p) {
    const auto& parameter = table.parameters[p];
    if (complete.find(parameter.name) != nullptr ||
        std::find(meant.begin(), meant.end(), parameter.name) != meant.end())
      continue;
    if (parameter.standard == nullptr) {
      base::attempt(mistakes, [&] {
        spec.parameters.fail_at_key(fmt::format("stage '{}' lacks '{}' ({}: {})", spec.name,
                                                parameter.name, parameter.kind, parameter.meaning));
      });
      continue;
    }
    Value standard = base::parse_yaml(parameter.standard, spec.name + "'s default", {});
    standard.line = spec.parameters.line;
    standard.file = spec.parameters.file;
    complete.entries.emplace_back(parameter.name, std::move(standard));
  }
  return complete;
}

namespace {

/// Where in the parameters a field's name was written, for messages.
const Value* mention(const Value& value, const std::string& text) {
  if (value.is_scalar()) return value.text == text ? &value : nullptr;
  for (const auto& [key, child] : value.entries)
    if (const Value* found = mention(child, text)) return found;
  return nullptr;
}

const Value& place_of(const pillion_setup& setup, const std::string& name) {
  const Value* found = mention(setup.parameters, name);
  return found != nullptr ? *found : setup.parameters;
}

const model::Field& field_at(const pillion_setup& setup, const std::string& name,
                             const Value& place) {
  const model::Field* field = setup.catalogue->find_field(name);
  if (field == nullptr)
    place.fail(fmt::format("unknown field '{}'{}", name,
                           base::suggestion(name, setup.catalogue->field_names())));
  return *field;
}

void check_integer(const pillion_setup& setup, const std::string& name, const char* use) {
  const auto& field = field_at(setup, name, place_of(setup, name));
  const auto& mesh = setup.catalogue->mesh(field.mesh);
  const bool particles = mesh.kind == model::MeshKind::Particles;
  if (model::values_of(mesh, field) != 1 || !model::can_number(field.type))
    place_of(setup, name)
        .fail(fmt::format(
            "field '{}' must be one int32 or int64 per {} to be {}, it is {} x {}{}", name,
            particles ? "particle" : "element", use, model::name_of(field.type), field.components,
            model::points_of(mesh, field) > 1 ? " at each of an element's points" : ""));
}

void check_position(const pillion_setup& setup, const Request& request) {
  const Value& place = place_of(setup, request.position);
  const auto& field = field_at(setup, request.position, place);
  if (field.components != 3 || !model::is_real(field.type))
    place.fail(fmt::format("field '{}' must have 3 real components to be a position, it is {} x {}",
                           field.name, model::name_of(field.type), field.components));
  if (!(request.halo >= 0) || !std::isfinite(request.halo))
    setup.parameters.fail(fmt::format("a halo cannot be {} wide", request.halo));
}

const char* called(model::MeshKind kind) {
  switch (kind) {
    case model::MeshKind::Uniform: return "the uniform mesh";
    case model::MeshKind::Rectilinear: return "the rectilinear mesh";
    case model::MeshKind::Particles: return "particles";
    case model::MeshKind::Curvilinear: return "the curvilinear mesh";
    case model::MeshKind::Unstructured: return "the unstructured mesh";
    default: return "the spectral mesh";
  }
}

void check_division(const pillion_setup& setup, const Request& request, const std::string& name) {
  const Value& place = place_of(setup, request.fields.front());
  const auto& mesh = setup.catalogue->mesh(name);
  if (!model::has_boxes(mesh.kind))
    place.fail(
        fmt::format("this stage needs a uniform, rectilinear or curvilinear mesh, and field '{}' "
                    "is on {} '{}'",
                    request.fields.front(), called(mesh.kind), name));
  if (!request.select.empty()) setup.parameters.fail("cells of a mesh cannot be selected from");
  const std::string fault = layout::fault_of(request, mesh);
  if (!fault.empty()) place.fail(fault);
}

const model::Mesh& mesh_at(const pillion_setup& setup, const std::string& name,
                           const Value& place) {
  const model::Mesh* mesh = setup.catalogue->find_mesh(name);
  if (mesh == nullptr)
    place.fail(fmt::format("unknown mesh '{}'{}", name,
                           base::suggestion(name, setup.catalogue->mesh_names())));
  return *mesh;
}

/// Stages that do not know of levels, or of missing cells, get no such mesh.
void check_whole(const pillion_setup& setup, const Request& request, const std::string& name) {
  const auto& mesh = setup.catalogue->mesh(name);
  if (mesh.is_whole()) return;
  const auto& field = request.fields.front();
  if (!model::can_be_divided(mesh.kind))
    place_of(setup, field)
        .fail(fmt::format("stage '{}' needs whole cells; field '{}' is on mesh '{}', which has the "
                          "{} '{}'",
                          setup.stage, field, name, mesh.is_partial ? "mask" : "weight",
                          mesh.is_partial ? mesh.mask : mesh.weight));
  place_of(setup, field)
      .fail(fmt::format("stage '{}' needs a field that has each cell of a uniform mesh once; field "
                        "'{}' is on mesh '{}', {}. Put 'flatten: {{fields: [{}], level: 0}}' "
                        "before this stage, and give it the field '{}_level_0'",
                        setup.stage, field, name,
                        mesh.levels() > 1 ? fmt::format("which has {} levels", mesh.levels())
                        : mesh.is_partial ? "some of whose cells do not exist"
                                          : "whose cells have a weight",
                        field, field));
}

/// Stages that do not know of values at points get cells only.
void check_points(const pillion_setup& setup, const Request& request, const std::string& name,
                  bool with_points) {
  const auto& mesh = setup.catalogue->mesh(name);
  const bool takes_points = with_points && request.kind == Kind::AsShared;
  for (const auto& field : request.fields) {
    const auto& described = setup.catalogue->field(field);
    if (!described.point_set.empty() && !takes_points)
      place_of(setup, field)
          .fail(fmt::format("field '{}' has values at the points '{}' of elements of mesh '{}', {} "
                            "along each axis; stage '{}' reads values at the {} points of the mesh",
                            field, described.point_set, name, model::points_along(mesh, described),
                            setup.stage, mesh.order + 1));
    if (model::point_axes_of(mesh, described) == 0) continue;
    if (takes_points) continue;
    place_of(setup, field)
        .fail(fmt::format("field '{}' has values at {}s of {} '{}'; stage '{}' reads values at "
                          "cells",
                          field, model::name_of(model::centering_of(mesh, described)),
                          called(mesh.kind), name, setup.stage));
  }
}

/// Layers of copies around the cells of an unstructured mesh.
void check_layers(const pillion_setup& setup, const Request& request, const std::string& mesh) {
  if (!(request.halo >= 0) || request.halo > 1e6 || request.halo != std::floor(request.halo))
    place_of(setup, request.fields.front())
        .fail(fmt::format("field '{}' is on the unstructured mesh '{}', whose halo is a number of "
                          "layers of cells: 0, 1, 2 or more; it is {}",
                          request.fields.front(), mesh, request.halo));
  if (!request.select.empty()) setup.parameters.fail("cells of a mesh cannot be selected from");
}

void check_cells_by_place(const pillion_setup& setup, const Request& request,
                          const std::string& mesh) {
  if (!request.position.empty())
    place_of(setup, request.fields.front())
        .fail(fmt::format("this stage needs particles with the positions '{}', and field '{}' is "
                          "on the unstructured mesh '{}', whose cells need no position: they lie "
                          "where their points are",
                          request.position, request.fields.front(), mesh));
  check_layers(setup, request, mesh);
}

/// The key may also be the ids that the program shares with the cells.
void check_cells_by_key(const pillion_setup& setup, const Request& request,
                        const std::string& mesh) {
  check_layers(setup, request, mesh);
  if (request.key.empty()) return;
  const Value& place = place_of(setup, request.key);
  const auto& field = field_at(setup, request.key, place);
  const auto centering = model::centering_of(setup.catalogue->mesh(mesh), field);
  if (!model::can_number(field.type) || field.components != 1 ||
      centering != model::Centering::Cell)
    place.fail(fmt::format(
        "field '{}' must be one int32 or int64 at each cell of mesh '{}' to be their "
        "key, it is {} x {} at each {}",
        field.name, mesh, model::name_of(field.type), field.components, model::name_of(centering)));
}

/// Particles and elements have no ids but in fields, and come by key alone.
void check_key(const pillion_setup& setup, const Request& request, const std::string& mesh) {
  const char* kind = called(setup.catalogue->mesh(mesh).kind);
  if (request.key.empty())
    setup.parameters.fail(
        fmt::format("this stage asked for {} '{}' by key; name an integer field "
                    "as the key",
                    kind, mesh));
  check_integer(setup, request.key, "a key");
  if (request.halo != 0)
    setup.parameters.fail(
        fmt::format("this stage asked for a halo of {} around {} '{}' by key; by "
                    "key, only cells of an unstructured mesh have one",
                    request.halo, kind, mesh));
}

void check_request(const pillion_setup& setup, const Request& request,
                   const pillion_input_request& wanted) {
  if (request.fields.empty()) setup.parameters.fail("a stage asked for an input without fields");
  std::string mesh;
  for (const auto& name : request.needed()) {
    const Value& place = place_of(setup, name);
    const auto& field = field_at(setup, name, place);
    if (mesh.empty()) mesh = field.mesh;
    if (field.mesh != mesh)
      place.fail(
          fmt::format("field '{}' is on mesh '{}', and '{}' on mesh '{}'; one input takes "
                      "fields of one mesh",
                      name, field.mesh, request.fields.front(), mesh));
  }
  const auto kind = setup.catalogue->mesh(mesh).kind;
  if (wanted.with_levels == 0 || request.kind != Kind::AsShared) check_whole(setup, request, mesh);
  check_points(setup, request, mesh, wanted.with_points != 0);
  if (request.kind == Kind::AsShared) {
    if (!request.select.empty()) setup.parameters.fail("blocks as shared cannot be selected from");
    return;
  }
  if (layout::is_division(request.kind)) return check_division(setup, request, mesh);
  if (kind == model::MeshKind::Unstructured && request.kind == Kind::Spatial)
    return check_cells_by_place(setup, request, mesh);
  if (kind == model::MeshKind::Unstructured) return check_cells_by_key(setup, request, mesh);
  if (!model::is_counted(kind) ||
      (request.kind == Kind::Spatial && kind != model::MeshKind::Particles))
    place_of(setup, request.fields.front())
        .fail(fmt::format("this stage needs particles, and field '{}' is on {} '{}'",
                          request.fields.front(), called(kind), mesh));
  if (request.kind == Kind::ByKey) check_key(setup, request, mesh);
  if (request.kind == Kind::Spatial) check_position(setup, request);
  if (!request.select.empty()) check_integer(setup, request.select, "selected by");
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

namespace {

void put_mesh(pillion_setup& setup, const model::Mesh& mesh,
              pillion_field_description& description) {
  description = {};
  description.size = sizeof description;
  description.mesh = mesh.name.c_str();
  description.mesh_kind = static_cast<pillion_mesh_kind>(mesh.kind);
  description.axes = mesh.axes;
  for (int d = 0; d < 3; ++d) {
    description.cells[d] = mesh.cells[d];
    description.origin[d] = mesh.origin[d];
    description.length[d] = mesh.length[d];
    description.periodic[d] = mesh.periodic[d] ? 1 : 0;
  }
  description.metric = static_cast<pillion_metric>(mesh.metric);
  description.order = mesh.order;
  description.coordinates = mesh.coordinates.c_str();
  description.levels = mesh.levels();
  description.is_partial = mesh.is_partial ? 1 : 0;
  description.mask = mesh.mask.c_str();
  description.weight = mesh.weight.c_str();
  auto& patches = setup.patches[mesh.name];
  if (patches.empty())
    for (const auto& patch : mesh.patches) patches.push_back(patch.c_str());
  description.patches = patches.data();
  description.patch_count = static_cast<int32_t>(patches.size());
}

}  // namespace

void describe_field(pillion_setup& setup, const std::string& name, const Value* place,
                    pillion_field_description& description) {
  const auto& field = field_at(setup, name, place != nullptr ? *place : place_of(setup, name));
  put_mesh(setup, setup.catalogue->mesh(field.mesh), description);
  description.name = field.name.c_str();
  description.units = field.units.c_str();
  description.type = static_cast<pillion_type>(field.type);
  description.components = field.components;
  const auto& mesh = setup.catalogue->mesh(field.mesh);
  description.centering = static_cast<pillion_centering>(model::centering_of(mesh, field));
  description.points = model::points_along(mesh, field);
  if (const auto* set = model::point_set_of(mesh, field)) {
    description.point_set = set->name.c_str();
    description.quadrature = set->quadrature;
  }
  description.point_axes = model::point_axes_of(mesh, field);
}

void describe_mesh(pillion_setup& setup, const std::string& name, const Value* place,
                   pillion_field_description& description) {
  const auto& mesh = mesh_at(setup, name, place != nullptr ? *place : place_of(setup, name));
  put_mesh(setup, mesh, description);
  description.name = "";
  description.units = mesh.units.c_str();
}

int32_t add_input(pillion_setup& setup, const pillion_input_request& wanted) {
  Request request;
  for (int32_t f = 0; f < wanted.field_count; ++f) request.fields.emplace_back(wanted.fields[f]);
  if (wanted.layout < PILLION_LAYOUT_AS_SHARED || wanted.layout > PILLION_LAYOUT_TRANSFORM)
    base::fail(ErrorCode::Plugin, "a stage asked for layout {}, which is not known", wanted.layout);
  request.kind = static_cast<Kind>(wanted.layout);
  if (request.kind == Kind::ByKey) request.key = text_or_empty(wanted.key);
  if (request.kind == Kind::Spatial) request.position = text_or_empty(wanted.position);
  if (request.kind == Kind::Spatial || request.kind == Kind::ByKey) request.halo = wanted.halo;
  if (!layout::is_division(request.kind) &&
      std::any_of(wanted.ghosts, wanted.ghosts + 3, [](int64_t g) { return g != 0; }))
    setup.parameters.fail(
        "ghost cells come with blocks, slabs, pencils and powers of two, not in other layouts");
  if (layout::is_division(request.kind)) {
    request.axis = wanted.axis;
    std::copy_n(wanted.sides, 3, request.sides.begin());
    std::copy_n(wanted.ghosts, 3, request.ghosts.begin());
    request.in_parts = wanted.in_parts != 0;
  }
  request.select = text_or_empty(wanted.select);
  request.select_values.assign(wanted.select_values, wanted.select_values + wanted.select_count);
  check_request(setup, request, wanted);
  const auto& mesh = setup.catalogue->mesh(layout::mesh_of(request, *setup.catalogue));
  if (request.kind == Kind::AsShared || !model::can_be_divided(mesh.kind))
    request.geometry = model::geometry_fields(mesh);
  setup.inputs.push_back(std::move(request));
  return static_cast<int32_t>(setup.inputs.size() - 1);
}

namespace {

int32_t add(pillion_setup& setup, model::Field field, const std::string& mesh, Output output) {
  const Value& place = place_of(setup, field.name);
  if (setup.catalogue->find_field(field.name) != nullptr)
    place.fail(
        fmt::format("there is a field '{}' already; give the new one another name", field.name));
  if (field.components < 1) place.fail("a field has at least one component");
  field.mesh = mesh;
  const int64_t points = model::points_of(setup.catalogue->mesh(mesh), field);
  if (field.components * points > std::numeric_limits<int32_t>::max())
    place.fail(fmt::format("field '{}' would have {} components at each of {} points of an element",
                           field.name, field.components, points));
  setup.catalogue->add(field);
  setup.outputs.push_back(std::move(output));
  return static_cast<int32_t>(setup.outputs.size() - 1);
}

void check_centering(const model::Field& field, const model::Mesh& mesh) {
  using model::Centering;
  const bool is_supported =
      field.centering == Centering::Natural ||
      (field.centering == Centering::Cell && mesh.kind != model::MeshKind::Particles) ||
      (field.centering == Centering::Point && model::may_have_points(mesh));
  if (!is_supported)
    base::fail(ErrorCode::Plugin,
               "field '{}' cannot be produced with centering {}, which is not supported on mesh "
               "'{}' of kind {}",
               field.name, model::name_of(field.centering), mesh.name, model::name_of(mesh.kind));
}

int32_t add_like(pillion_setup& setup, model::Field field, const std::string& like) {
  const auto& model = field_at(setup, like, place_of(setup, field.name));
  if (field.centering == model::Centering::Natural) {
    field.centering = model.centering;
    field.axis = model.axis;
    field.point_set = model.point_set;
  } else if (field.centering == model.centering) {
    field.axis = model.axis;
  } else {
    check_centering(field, setup.catalogue->mesh(model.mesh));
  }
  return add(setup, field, model.mesh, {.name = field.name, .like = like});
}

int32_t add_on(pillion_setup& setup, const model::Field& field, int32_t input) {
  if (input < 0 || static_cast<size_t>(input) >= setup.inputs.size())
    base::fail(ErrorCode::Plugin, "field '{}' is declared as output on input {} of {}", field.name,
               input, setup.inputs.size());
  const auto& request = setup.inputs[static_cast<size_t>(input)];
  check_centering(field, setup.catalogue->mesh(layout::mesh_of(request, *setup.catalogue)));
  if (!layout::is_division(request.kind))
    base::fail(ErrorCode::Plugin,
               "field '{}' cannot be produced on input {}, which is not a division of a mesh",
               field.name, input);
  if (request.in_parts)
    base::fail(ErrorCode::Plugin,
               "field '{}' cannot be produced on input {}, whose boxes may come in parts",
               field.name, input);
  return add(setup, field, layout::mesh_of(request, *setup.catalogue),
             {.name = field.name, .input = input});
}

int32_t add_of(pillion_setup& setup, const model::Field& field, const std::string& name) {
  const Value& place = place_of(setup, name);
  if (!model::can_be_divided(mesh_at(setup, name, place).kind))
    place.fail(fmt::format(
        "field '{}' can be produced on a uniform or rectilinear mesh, and '{}' is one of kind '{}'",
        field.name, name, model::name_of(setup.catalogue->mesh(name).kind)));
  check_centering(field, setup.catalogue->mesh(name));
  return add(setup, field, name, {.name = field.name, .of_boxes = true});
}

model::Field field_of(const pillion_output& wanted) {
  if (!model::is_known(wanted.type))
    base::fail(ErrorCode::Plugin, "field '{}' has type {}, which is not known", wanted.name,
               wanted.type);
  if (wanted.centering < 0 || wanted.centering > PILLION_EDGE)
    base::fail(ErrorCode::Plugin, "field '{}' has centering {}, which is not known", wanted.name,
               wanted.centering);
  return {wanted.name,
          {},
          text_or_empty(wanted.units),
          static_cast<ElementType>(wanted.type),
          wanted.components,
          static_cast<model::Centering>(wanted.centering)};
}

}  // namespace

int32_t add_output(pillion_setup& setup, const pillion_output& wanted) {
  if (wanted.name == nullptr)
    base::fail(ErrorCode::Plugin, "a stage produces a field without name");
  const auto field = field_of(wanted);
  if (wanted.like != nullptr && wanted.mesh != nullptr)
    base::fail(ErrorCode::Plugin,
               "field '{}' is declared as output both like '{}' and on mesh '{}'", field.name,
               wanted.like, wanted.mesh);
  if (wanted.like != nullptr) return add_like(setup, field, wanted.like);
  if (wanted.mesh != nullptr) return add_of(setup, field, wanted.mesh);
  return add_on(setup, field, wanted.input);
}

void add_memory(pillion_setup& setup, double per_input_byte, int64_t bytes) {
  if (!(per_input_byte >= 0) || !std::isfinite(per_input_byte) || bytes < 0)
    base::fail(ErrorCode::Argument,
               "stage '{}' declares {} bytes of memory for each byte of its inputs, and {} bytes "
               "besides; declare numbers of 0 or more",
               setup.stage, per_input_byte, bytes);
  setup.memory_per_input_byte += per_input_byte;
  setup.memory += bytes;
}

void expect_separate_job(const pillion_setup& setup, const Value* place) {
  if (setup.in_separate_job) return;
  const std::string why = fmt::format(
      "stage '{}' may end the processes that it runs in, so it runs in sidecars of a job of their "
      "own alone; set 'sidecars: {{job: separate}}' and leave out 'at: simulation', or add the "
      "analysis to a run with 'pillion attach RUN FILE'",
      setup.stage);
  if (place != nullptr) place->fail(why);
  setup.parameters.fail_at_key(why);
}

void add_product(pillion_setup& setup, const std::string& name) {
  if (const auto fault = products::fault_of_product_name(name); !fault.empty())
    setup.parameters.fail_at_key(fmt::format(
        "stage '{}' would write a product '{}': {}. Products have the names of fields, meshes or "
        "functions; rename these",
        setup.stage, base::shortened(name), fault));
  for (const auto& known : setup.products)
    if (known.name == name)
      setup.parameters.fail_at_key(fmt::format(
          "stage '{}' writes the product '{}', which stage '{}' on line {} of the same analysis "
          "writes; give them different names, or put one of them in another analysis",
          setup.stage, name, known.stage, known.line));
  setup.products.push_back({name, setup.stage, setup.parameters.key_line});
}

}  // namespace pillion::stagehost

// SPDX-License-Identifier: BSD-3-Clause
// Fields whose components lie in arrays of their own, as many codes have them. All of
// them have the same strides.
#include <algorithm>

#include "model/geometry.hpp"
#include "model/view.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

using model::MeshKind;

void Sharing::put_components(const model::Field& field, const Where& where,
                             std::span<const void* const> data, const model::Array& like) {
  const auto refuse = [&](const std::string& what, const std::string& why) {
    fault(
        field.name, where.block,
        fmt::format("{}block {} of field '{}' was shared {}", what, where.block, field.name, why));
  };
  if (data.size() != static_cast<size_t>(field.components))
    return refuse("", fmt::format("as {} arrays, one for each component, but the catalogue says {} "
                                  "components",
                                  data.size(), field.components));
  if (where.box.volume() == 0) return put(field.name, where, like);
  const auto lacking = std::find(data.begin(), data.end(), nullptr);
  if (lacking != data.end())
    return refuse(fmt::format("component {} of ", lacking - data.begin()), "without memory");
  const auto array = model::array_of_components(data, like);
  if (!array) return refuse("", "as arrays of components that are not whole elements apart");
  put(field.name, where, *array);
}

void Sharing::put_parts(const model::Field& field, const Where& where,
                        std::span<const void* const> data, const model::Array& like) {
  if (where.box.volume() == 0) return put(field.name, where, like);
  auto array = model::array_of_components(data, like);
  if (!array)
    return fault(field.name, where.block,
                 fmt::format("block {} of field '{}' consists of the fields '{}', whose arrays are "
                             "not whole elements apart",
                             where.block, field.name, fmt::join(field.parts, "', '")));
  // An array in one piece may be lent to sidecars, and these are several pieces of memory, even
  // where one begins at the end of another.
  if (where.box.volume() == 1 && !array->is_apart() && data.size() > 1)
    for (size_t c = 0; c < data.size(); ++c)
      array->offsets.push_back(array->strides[3] * like.components / field.components *
                               static_cast<int64_t>(c));
  put(field.name, where, *array);
}

void Sharing::put_components(const model::Field& field, int32_t block, int64_t count,
                             std::span<const void* const> data, const Spacing& spacing) {
  const auto& mesh = catalogue_.mesh(field.mesh);
  if (count < 0)
    return fault(field.name, block,
                 fmt::format("block {} of field '{}' was shared with {} {}", block, field.name,
                             count, items_of(mesh, field)));
  put_components(field, {0, block, {{0, 0, 0}, {count, 1, 1}}}, data,
                 array_of_items(field, count, nullptr, spacing));
}

const model::Field* Sharing::accept_items(const std::string& name, int32_t& block,
                                          pillion_type type) {
  const model::Field* known = catalogue_.find_field(name);
  const auto kind = known == nullptr ? MeshKind::Particles : catalogue_.mesh(known->mesh).kind;
  return accept(name, block, model::has_boxes(kind) ? MeshKind::Particles : kind, type);
}

void Sharing::share_box(const std::string& name, int32_t level, int32_t block, const int64_t* lo,
                        const int64_t* hi, const Components& components) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, components.type);
  if (field == nullptr) return;
  Where where{level, block};
  if (!put_box(*field, lo, hi, where)) return;
  auto like = array_in(*field, where.box, 1);
  if (components.strides != nullptr)
    std::copy_n(components.strides, catalogue_.mesh(field->mesh).axes, like.strides.begin());
  put_components(*field, where, components.data, like);
}

void Sharing::share_items(const std::string& name, int32_t block, int64_t count,
                          const Components& components) {
  const model::Field* field = accept_items(name, block, components.type);
  if (field == nullptr) return;
  const int32_t points = model::points_of(catalogue_.mesh(field->mesh), *field);
  const int64_t* given = components.strides;
  put_components(
      *field, block, count, components.data,
      {given != nullptr ? given[0] : points, given != nullptr && points > 1 ? given[1] : 1});
}

namespace {

std::vector<const void*> addresses_of(std::span<const pillion_view> views) {
  std::vector<const void*> out;
  for (const auto& view : views) out.push_back(view.data);
  return out;
}

pillion_type type_of(std::span<const pillion_view> views) {
  return views.empty() ? 0 : views.front().type;
}

/// How all the arrays lie, or what is wrong with one of them.
template <class Arrange>
model::Arrangement arrange_alike(std::span<const pillion_view> components, Arrange&& arrange) {
  model::Arrangement all;
  for (size_t c = 0; c < components.size(); ++c) {
    auto how = arrange(components[c]);
    if (how.fault.empty() && components[c].type != components[0].type)
      how.fault = "an array of another type than that of component 0";
    if (how.fault.empty() && c > 0 && how.strides != all.strides)
      how.fault = "an array that lies otherwise than that of component 0; all must lie alike";
    if (!how.fault.empty())
      return {.fault = fmt::format("arrays of components, and component {} as {}", c, how.fault)};
    all.strides = how.strides;
  }
  return all;
}

}  // namespace

void Sharing::share_box(const std::string& name, int32_t level, int32_t block, int32_t axes,
                        const int64_t* lo, const int64_t* hi,
                        std::span<const pillion_view> components) {
  const model::Field* field = accept(name, block, MeshKind::Uniform, type_of(components));
  if (field == nullptr) return;
  Where where{level, block};
  if (!put_axes(*field, axes, lo, hi, where)) return;
  const auto extents = extents_in(*field, where.box);
  const auto how = arrange_alike(components, [&](const pillion_view& view) {
    return model::arrange(
        view, {std::span(extents).first(static_cast<size_t>(axes)), field->type, 1, false, false});
  });
  if (!how.fault.empty())
    return fault(name, block,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  auto like = array_in(*field, where.box, 1);
  like.strides = how.strides;
  put_components(*field, where, addresses_of(components), like);
}

void Sharing::share_items(const std::string& name, int32_t block, int64_t count,
                          std::span<const pillion_view> components) {
  const model::Field* field = accept_items(name, block, type_of(components));
  if (field == nullptr) return;
  const auto& mesh = catalogue_.mesh(field->mesh);
  const auto points = points_along_axes(mesh, *field);
  const auto how = arrange_alike(components, [&](const pillion_view& view) {
    return mesh.kind == MeshKind::Spectral
               ? model::arrange_elements(view, {points, field->type, 1}, count)
               : model::arrange(view, {std::span(&count, 1), field->type, 1, false, true});
  });
  if (!how.fault.empty())
    return fault(name, block,
                 fmt::format("block {} of field '{}' was shared as {}", block, name, how.fault));
  put_components(*field, block, count, addresses_of(components), {how.strides[0], how.strides[3]});
}

}  // namespace pillion::simulation

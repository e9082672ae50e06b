// SPDX-License-Identifier: BSD-3-Clause
// Who asks for blocks as they are shared takes those of a division too, for they are boxes without
// a cell in common like any others. Particles that were assigned leave behind those not selected.
#include "layout/request.hpp"

#include <algorithm>
#include <optional>

#include "layout/division.hpp"

namespace pillion::layout {

std::vector<std::string> Request::needed() const {
  std::vector<std::string> names = fields;
  for (const auto* extra : {&key, &position, &select})
    if (!extra->empty() && std::find(names.begin(), names.end(), *extra) == names.end())
      names.push_back(*extra);
  for (const auto& name : geometry)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

namespace {

Request without_fields(Request request) {
  request.fields.clear();
  request.in_parts = false;
  return request;
}

void add_fields(const Request& from, Request& to) {
  for (const auto& name : from.fields)
    if (std::find(to.fields.begin(), to.fields.end(), name) == to.fields.end())
      to.fields.push_back(name);
}

Request common_division(std::span<const LayoutRequest* const> requests) {
  Request common;
  std::optional<std::array<int64_t, 3>> ghosts;
  for (const LayoutRequest* request : requests) {
    if (request->request.kind == Kind::AsShared) continue;
    Request plain = without_fields(request->request);
    if (!request->is_for_own) {
      if (!ghosts) ghosts = plain.ghosts;
      if (*ghosts != plain.ghosts) ghosts->fill(0);
    }
    plain.ghosts = {};
    if (common.kind == Kind::AsShared) common = plain;
    if (common != plain) return {};
  }
  common.ghosts = ghosts.value_or(std::array<int64_t, 3>{});
  return common;
}

}  // namespace

bool same_layout(const Request& a, const Request& b) {
  return without_fields(a) == without_fields(b);
}

Request common_layout(model::MeshKind kind, std::span<const LayoutRequest* const> requests) {
  if (requests.empty()) return {};
  Request common;
  if (model::is_counted(kind)) {
    const Request& first = requests.front()->request;
    if (!std::all_of(requests.begin(), requests.end(),
                     [&](const LayoutRequest* w) { return same_layout(w->request, first); }))
      return {};
    common = without_fields(first);
  } else {
    common = common_division(requests);
  }
  for (const LayoutRequest* request : requests)
    if (!request->is_for_own) add_fields(request->request, common);
  return common;
}

Routes routes_for(std::span<const LayoutRequest* const> requests,
                  const model::Catalogue& catalogue) {
  std::map<std::string, std::vector<const LayoutRequest*>> by_mesh;
  for (const LayoutRequest* request : requests) by_mesh[request->mesh].push_back(request);
  std::map<std::string, Request> routes;
  for (const auto& [mesh, asked] : by_mesh) {
    auto& route = routes[mesh] = common_layout(catalogue.mesh(mesh).kind, asked);
    const auto needed = route.needed();
    // No rank knows the boxes of all ranks; and cells would go without points at their corners.
    if (has_open_sides(route) || catalogue.mesh(mesh).has_values_at_points) route = {};
    // Fields that stages produce have longer names, which the assignment does not know.
    if (model::is_counted(catalogue.mesh(mesh).kind) &&
        !std::all_of(needed.begin(), needed.end(),
                     [&](const auto& name) { return catalogue.find_field(name) != nullptr; }))
      route = {};
  }
  return routes;
}

}  // namespace pillion::layout

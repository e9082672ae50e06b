// SPDX-License-Identifier: BSD-3-Clause
// From channels to domains, and from the topologies of a domain to parts. fields.cpp reads fields
// and ghosts.
#include "parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pillion/error.hpp>

namespace pillion::catalyst {

namespace {

constexpr std::array<const char*, 3> space = {"x", "y", "z"};
constexpr std::array<const char*, 3> logical = {"i", "j", "k"};

/// The part's numbers of points along Blueprint's axes. Axes with one point are left out of the
/// part: `order` lists the others.
struct Extents {
  std::array<int64_t, 3> points{1, 1, 1};
  std::vector<size_t> order;
};

/// No array is as large, and products of such numbers have no overflow.
constexpr int64_t most_points = int64_t{1} << 40;

void put_extents(const Node& where, const Extents& extents, Part& part) {
  double all = 1;
  for (const int64_t count : extents.points) {
    all *= static_cast<double>(std::max<int64_t>(count, 1));
    if (count < 0 || all > static_cast<double>(most_points))
      refuse(fmt::format("'{}' has {} points along an axis", where.path(), count));
  }
  part.axes = static_cast<int>(extents.order.size());
  const auto& points = extents.points;
  const std::array<int64_t, 3> steps{1, points[0], points[0] * points[1]};
  for (size_t a = 0; a < extents.order.size(); ++a) {
    part.order[a] = extents.order[a];
    part.cells[a] = points[extents.order[a]] - 1;
    part.lattice_of_points.steps[a] = steps[extents.order[a]];
  }
  part.hi = part.cells;
}

void refuse_other_systems(const Node& names) {
  for (const auto& child : names.children()) {
    const std::string name = child.name();
    const bool is_space = std::any_of(space.begin(), space.end(), [&](const std::string axis) {
      return name == axis || name == "d" + axis;
    });
    if (!is_space)
      refuse(
          fmt::format("'{}' has the axis '{}'; Pillion takes the axes x, y and z, not cylindrical "
                      "or spherical ones",
                      names.path(), name));
  }
}

double finite(const Node& node) {
  const double value = node.real();
  if (!std::isfinite(value)) refuse(fmt::format("'{}' is {}", node.path(), value));
  return value;
}

void read_uniform(const Node& coordset, Part& part) {
  const Node dims = coordset.at("dims");
  const auto origin = coordset.find("origin");
  const auto spacing = coordset.find("spacing");
  for (const auto& names : {origin, spacing})
    if (names) refuse_other_systems(*names);
  Extents extents;
  for (size_t d = 0; d < 3; ++d) {
    const auto points = dims.find(logical[d]);
    if (points) extents.points[d] = points->integer();
    if (extents.points[d] == 1) continue;
    const size_t a = extents.order.size();
    extents.order.push_back(d);
    const std::string width = std::string("d") + space[d];
    if (origin && origin->has(space[d])) part.origin[a] = finite(origin->at(space[d]));
    if (spacing && spacing->has(width.c_str()))
      part.spacing[a] = finite(spacing->at(width.c_str()));
    if (!(part.spacing[a] > 0))
      refuse(fmt::format("'{}/spacing/{}' is {}; cells need a width above 0", coordset.path(),
                         width, part.spacing[a]));
  }
  put_extents(coordset, extents, part);
}

void read_rectilinear(const Node& coordset, Part& part) {
  const Node values = coordset.at("values");
  refuse_other_systems(values);
  Extents extents;
  for (size_t d = 0; d < 3; ++d) {
    const auto along = values.find(space[d]);
    if (!along) continue;
    const Array array = along->array();
    extents.points[d] = array.count;
    if (array.count == 1) continue;
    auto& faces = part.faces[extents.order.size()];
    extents.order.push_back(d);
    for (int64_t i = 0; i < array.count; ++i) faces.push_back(array.real(i));
    const bool is_finite =
        std::all_of(faces.begin(), faces.end(), [](double x) { return std::isfinite(x); });
    if (!is_finite ||
        std::adjacent_find(faces.begin(), faces.end(), std::greater_equal<>()) != faces.end())
      refuse(fmt::format("'{}' must ascend, and does not", along->path()));
  }
  put_extents(coordset, extents, part);
}

void read_coordinates(const Node& coordset, Part& part) {
  const std::string type = coordset.at("type").text();
  if (type != "explicit")
    refuse(fmt::format("'{}' is of type '{}'; a topology of this type needs an 'explicit' one",
                       coordset.path(), type));
  const Node values = coordset.at("values");
  refuse_other_systems(values);
  for (const char* axis : space) {
    const auto along = values.find(axis);
    if (!along) break;
    part.coordinates.push_back(along->array());
    if (part.coordinates.back().count != part.coordinates.front().count)
      refuse(fmt::format("'{}' has {} values, and the first axis {}", along->path(),
                         part.coordinates.back().count, part.coordinates.front().count));
  }
  if (part.coordinates.empty()) refuse(fmt::format("'{}/x' is missing", values.path()));
}

/// The points of a structured topology may be some of those of its coordinate set.
void put_strides(const Node& elements, const Extents& extents, Part& part) {
  const auto strides = elements.find("dims/strides");
  const auto offsets = elements.find("dims/offsets");
  if (!strides && !offsets) return;
  if (!strides) refuse(fmt::format("'{}/dims/strides' is missing", elements.path()));
  const Array step = strides->array();
  const Array first = offsets ? offsets->array() : Array{};
  auto& lattice = part.lattice_of_points;
  for (size_t a = 0; a < extents.order.size(); ++a) {
    const auto d = static_cast<int64_t>(extents.order[a]);
    if (d < step.count) lattice.steps[a] = step.integer(d);
  }
  lattice.begin_at(first, step);
}

void read_structured(const Node& topology, const Node& coordset, Part& part) {
  read_coordinates(coordset, part);
  const Node elements = topology.at("elements");
  const Node dims = elements.at("dims");
  Extents extents;
  bool is_flat = false;
  for (size_t d = 0; d < 3; ++d) {
    if (const auto cells = dims.find(logical[d])) {
      extents.points[d] = std::clamp<int64_t>(cells->integer(), -2, most_points) + 1;
      is_flat = is_flat || extents.points[d] == 1;
    }
    if (extents.points[d] > 1) extents.order.push_back(d);
  }
  put_extents(coordset, extents, part);
  if (is_flat && part.coordinates.front().count == 0) {  // a plane would have points
    part.axes = 1;
    part.cells = {0, 1, 1};
    return;
  }
  put_strides(elements, extents, part);
  if (!part.lattice_of_points.fits(part.cells, part.axes, true, part.coordinates.front().count))
    refuse(fmt::format("'{}' has {} points, too few for its topology", coordset.path(),
                       part.coordinates.front().count));
  const auto origin = elements.find("origin");
  if (!origin) return;
  part.index.emplace();
  for (size_t a = 0; a < extents.order.size(); ++a) {
    const std::string axis = logical[extents.order[a]];
    for (const auto& name : {axis + "0", axis})
      if (const auto first = origin->find(name.c_str())) {
        (*part.index)[a] = std::clamp(first->integer(), -most_points, most_points);
        break;
      }
  }
}

Form form_of(const Node& topology) {
  const Node type = topology.at("type");
  const std::string text = type.text();
  if (text == "uniform") return Form::Uniform;
  if (text == "rectilinear") return Form::Rectilinear;
  if (text == "structured") return Form::Structured;
  if (text == "unstructured") return Form::Unstructured;
  if (text == "points") return Form::Points;
  refuse(
      fmt::format("'{}' is '{}'; Pillion takes uniform, rectilinear, structured, unstructured and "
                  "points",
                  type.path(), text));
}

void read_geometry(const Node& topology, const Node& coordset, Part& part) {
  part.form = form_of(topology);
  switch (part.form) {
    case Form::Uniform: return read_uniform(coordset, part);
    case Form::Rectilinear: return read_rectilinear(coordset, part);
    case Form::Structured: return read_structured(topology, coordset, part);
    case Form::Points: return read_coordinates(coordset, part);
    case Form::Unstructured: break;
  }
  read_coordinates(coordset, part);
  part.table = read_cells(topology);
  if (part.table.count == 0 || part.table.dimensions > 0) return;
  // Particles are often described as cells of one point.
  part.form = Form::Points;
  const int64_t points = part.coordinates.front().count;
  if (part.table.count != points || !part.table.is_list_of_points())
    refuse(
        fmt::format("'{}' has {} cells of one point each, which are not the {} points of its "
                    "coordinate set in their order; give it the type 'points'",
                    topology.path(), part.table.count, points));
}

std::string units_of_lengths(const Node& coordset) {
  const auto units = coordset.find("units");
  if (!units) return {};
  if (units->is_text()) return units->text();
  const auto along = units->find("x");
  return along && along->is_text() ? along->text() : std::string();
}

Part read_part(const Node& domain, const Node& topology, const Key& key,
               std::vector<Fault>& faults) {
  Part part;
  part.key = key;
  part.path = topology.path();
  if (topology.has("grid_function"))
    refuse(fmt::format("'{}' has a 'grid_function'; Pillion takes cells of straight sides",
                       topology.path()));
  const std::string name = topology.at("coordset").text();
  const Node coordset = domain.at("coordsets").at(name.c_str());
  part.units = units_of_lengths(coordset);
  part.is_nested = domain.has("nestsets");
  read_geometry(topology, coordset, part);
  if (part.is_empty()) return part;
  if (part.is_box() && part.axes == 0)
    refuse(fmt::format("'{}' has no cells along any axis", coordset.path()));
  std::vector<std::string> ghosts;
  part.flags = read_flags(domain, part, ghosts);
  if (part.is_box()) leave_out_ghosts(part);
  read_fields(domain, ghosts, part, faults);
  return part;
}

/// Fields that belong to no topology of their domain.
void find_stray_fields(const Node& domain, const Node& topologies, const Key& key,
                       Description& out) {
  const auto fields = domain.find("fields");
  if (!fields || !topologies.has_children()) return;
  for (const auto& field : fields->children()) {
    const auto named = field.find("topology");
    const std::string of = named && named->is_text() ? named->text() : "";
    if (!of.empty() && topologies.has(of.c_str())) continue;
    const std::string why = of.empty()
                                ? "names no 'topology'"
                                : fmt::format("names the topology '{}', but there is none", of);
    // Other domains may have it.
    out.faults.push_back({{key.channel, key.block, ""},
                          field.name(),
                          fmt::format("'{}' {}, and is left out", field.path(), why)});
  }
}

void read_domain(const Node& domain, Key key, Description& out) {
  const auto topologies = domain.find("topologies");
  if (!topologies) {
    if (domain.has_children())
      out.faults.push_back(
          {key, "",
           fmt::format("'{}/topologies' is missing: this is no mesh of Blueprint", domain.path())});
    return;
  }
  for (const auto& topology : topologies->children()) {
    key.topology = topology.name();
    try {
      Part part = read_part(domain, topology, key, out.faults);
      if (!part.is_empty()) out.parts.push_back(std::move(part));
    } catch (const std::exception& problem) {
      out.faults.push_back({key, "", problem.what()});
    }
  }
  find_stray_fields(domain, *topologies, key, out);
}

/// Blocks of a multimesh that differ in their number only are domains of one mesh.
std::string without_number(std::string name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  while (!name.empty() && (name.back() == '_' || name.back() == '-' || name.back() == '.'))
    name.pop_back();
  return name;
}

void read_channel(const Node& channel, const Key& key, Description& out) {
  const std::string type = channel.at("type").text();
  if (type != "mesh" && type != "multimesh" && type != "amrmesh")
    refuse(
        fmt::format("channel '{}' is of type '{}', which is not a mesh; Pillion takes mesh, "
                    "multimesh and amrmesh",
                    key.channel, type));
  const auto data = channel.find("data");
  if (!data) return;
  if (data->has("topologies") || data->has("coordsets") || !data->has_children())
    return read_domain(*data, key, out);
  const bool has_names = type == "multimesh" && data->type() == ConduitType::Object;
  for (const auto& domain : data->children()) {
    Key of_domain = key;
    if (has_names) of_domain.block = without_number(domain.name());
    read_domain(domain, of_domain, out);
  }
}

}  // namespace

Description describe(const Node& channels) {
  Description out;
  for (const auto& channel : channels.children()) {
    const Key key{channel.name(), "", ""};
    try {
      read_channel(channel, key, out);
    } catch (const std::exception& problem) {
      out.faults.push_back({key, "", problem.what()});
    }
  }
  return out;
}

void Lattice::begin_at(const Array& offsets, const Array& strides) {
  for (int64_t d = 0; d < std::min(offsets.count, strides.count); ++d) {
    const auto step =
        static_cast<double>(offsets.integer(d)) * static_cast<double>(strides.integer(d));
    // Such a place is in no array: nothing fits.
    if (std::abs(step) > static_cast<double>(most_points)) return void(first = -most_points);
    first += offsets.integer(d) * strides.integer(d);
  }
}

bool Lattice::fits(const std::array<int64_t, 3>& cells, int axes, bool at_points,
                   int64_t count) const {
  // In reals, which have no overflow; steps may go backwards.
  auto lowest = static_cast<double>(first), highest = lowest;
  for (size_t a = 0; a < static_cast<size_t>(axes); ++a) {
    const auto last = static_cast<double>(cells[a] - (at_points ? 0 : 1));
    const double reach = last * static_cast<double>(steps[a]);
    (reach < 0 ? lowest : highest) += reach;
  }
  return lowest >= 0 && highest < static_cast<double>(count);
}

int64_t Part::number_of_cells() const {
  if (form == Form::Unstructured) return table.count;
  return form == Form::Points ? number_of_points() : cells[0] * cells[1] * cells[2];
}

int64_t Part::number_of_points() const {
  if (!coordinates.empty() && form != Form::Structured) return coordinates.front().count;
  int64_t points = 1;
  for (int a = 0; a < axes; ++a) points *= cells[static_cast<size_t>(a)] + 1;
  return points;
}

int64_t Part::number_of_own() const {
  if (!is_box()) return number_of_cells();
  return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
}

bool Part::is_empty() const {
  if (!is_box()) return number_of_cells() == 0;
  return axes > 0 &&
         std::any_of(cells.begin(), cells.begin() + axes, [](int64_t count) { return count <= 0; });
}

}  // namespace pillion::catalyst

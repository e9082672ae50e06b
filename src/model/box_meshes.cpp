// SPDX-License-Identifier: BSD-3-Clause
// Reading meshes of boxes: cells, extent, levels of refinement, missing cells.
#include <algorithm>
#include <cmath>

#include "base/value.hpp"
#include "model/geometry.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

std::string name_of_level(const std::string& mesh, int level) {
  return fmt::format("{}_level_{}", mesh, level);
}

std::array<int64_t, 3> cells_of_level(const Mesh& mesh, int level) {
  auto cells = mesh.cells;
  for (int l = 0; l < level; ++l)
    for (size_t d = 0; d < 3; ++d) cells[d] *= mesh.ratios.at(static_cast<size_t>(l))[d];
  return cells;
}

void read_cells(const Value& cells, Mesh& mesh) {
  if (!cells.is_list() || cells.entries.empty() || cells.entries.size() > 3)
    cells.fail(fmt::format("cells must be a list of 1 to 3 integers such as [64, 64, 64], found {}",
                           base::to_flow(cells)));
  mesh.axes = static_cast<int>(cells.entries.size());
  constexpr int64_t most = int64_t{1} << 50;
  int64_t all = 1;
  for (size_t a = 0; a < cells.entries.size(); ++a) {
    mesh.cells[a] = cells.entries[a].second.as_integer();
    if (mesh.cells[a] < 1)
      cells.fail(fmt::format("cells must be positive, found {}", mesh.cells[a]));
    // So that bytes of their fields can be counted.
    if (mesh.cells[a] > most / all)
      cells.fail(fmt::format("cells {} are more than 2^50 in all", base::to_flow(cells)));
    all *= mesh.cells[a];
  }
}

namespace {

/// A list with one entry per axis.
const Value& per_axis(const Value& value, int axes, const char* what) {
  if (!value.is_list() || static_cast<int>(value.entries.size()) != axes)
    value.fail(fmt::format("{} must be a list of {} values, one per axis of the mesh, found {}",
                           what, axes, base::to_flow(value)));
  return value;
}

/// One entry per axis, read by `read` into `out`.
template <class T, class Read>
void read_per_axis(const Value& value, const char* what, const Mesh& mesh, std::array<T, 3>& out,
                   Read&& read) {
  per_axis(value, mesh.axes, what);
  for (size_t a = 0; a < value.entries.size(); ++a) out[a] = read(value.entries[a].second);
}

double read_length(const Value& value) {
  const double length = value.as_real();
  if (!(length > 0) || !std::isfinite(length))
    value.fail(fmt::format("length must be above 0, found {}", value.text));
  return length;
}

double read_origin(const Value& value) {
  const double origin = value.as_real();
  if (!std::isfinite(origin)) value.fail(fmt::format("origin cannot be {}", value.text));
  return origin;
}

void read_periodic(const Value& value, Mesh& mesh) {
  const auto read = [](const Value& one) { return one.as_boolean(); };
  if (value.is_list()) read_per_axis(value, "periodic", mesh, mesh.periodic, read);
  else std::fill_n(mesh.periodic.begin(), mesh.axes, read(value));
}

/// `levels: {count: 4, ratio: 2}`; a list of ratios has one for each finer level.
void read_levels(const Value& value, Mesh& mesh) {
  Reader reader(value, "levels of mesh '" + mesh.name + "'");
  constexpr int64_t most_levels = 30, most_ratio = 16;
  const Value& count = reader.require("count");
  const int64_t levels = count.as_integer();
  if (levels < 1 || levels > most_levels)
    count.fail(fmt::format("a mesh has 1 to {} levels, found {}", most_levels, levels));
  const Value* ratio = reader.find("ratio");
  const auto read_one = [&](const Value& one) {
    const int64_t r = one.as_integer();
    if (r < 1 || r > most_ratio)
      one.fail(fmt::format("a ratio is 1 to {}, found {}", most_ratio, r));
    return r;
  };
  const auto read = [&](const Value& of_level) {
    std::array<int64_t, 3> out{1, 1, 1};
    const auto axes = static_cast<size_t>(mesh.axes);
    if (!of_level.is_list()) {
      std::fill_n(out.begin(), axes, read_one(of_level));
    } else if (of_level.entries.size() == axes) {
      for (size_t a = 0; a < axes; ++a) out[a] = read_one(of_level.entries[a].second);
    } else {
      of_level.fail(
          fmt::format("the ratio of a level is an integer or a list of {}, one per axis "
                      "of the mesh, found {}",
                      axes, base::to_flow(of_level)));
    }
    if (out == std::array<int64_t, 3>{1, 1, 1})
      of_level.fail("a level is finer than the one before along one axis at least; found ratio 1");
    return out;
  };
  if (ratio != nullptr && ratio->is_list()) {
    if (static_cast<int64_t>(ratio->entries.size()) != levels - 1)
      ratio->fail(fmt::format("{} levels have {} ratios, one for each finer level; found {}",
                              levels, levels - 1, base::to_flow(*ratio)));
    for (const auto& [key, of_level] : ratio->entries) mesh.ratios.push_back(read(of_level));
  } else {
    std::array<int64_t, 3> two{1, 1, 1};
    std::fill_n(two.begin(), mesh.axes, 2);
    mesh.ratios.assign(static_cast<size_t>(levels - 1), ratio == nullptr ? two : read(*ratio));
  }
  constexpr int64_t most = int64_t{1} << 50;
  int64_t all = mesh.cells[0] * mesh.cells[1] * mesh.cells[2];
  for (const auto& finer : mesh.ratios)
    for (const int64_t r : finer)
      if (__builtin_mul_overflow(all, r, &all) || all > most)
        value.fail(
            fmt::format("the finest level of mesh '{}' has more than 2^50 cells", mesh.name));
  reader.finish();
}

void read_covered(const Value& value, Mesh& mesh) {
  const std::string& text = value.as_text();
  if (text != "partial" && text != "whole")
    value.fail(fmt::format("covered is 'whole' or 'partial', found '{}'", text));
  mesh.is_partial = text == "partial";
}

}  // namespace

bool read_uniform(Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  const Value* levels = reader.find("levels");
  const Value* covered = reader.find("covered");
  const Value* length = reader.find("length");
  const Value* origin = reader.find("origin");
  const Value* periodic = reader.find("periodic");
  if (!attempt(mistakes, [&] { read_cells(reader.require("cells"), mesh); })) return false;
  for (int a = 0; a < mesh.axes; ++a) mesh.length[a] = static_cast<double>(mesh.cells[a]);
  bool is_good = attempt(mistakes, [&] {
    if (length != nullptr) read_per_axis(*length, "length", mesh, mesh.length, read_length);
  });
  is_good &= attempt(mistakes, [&] {
    if (origin != nullptr) read_per_axis(*origin, "origin", mesh, mesh.origin, read_origin);
  });
  is_good &= attempt(mistakes, [&] {
    if (periodic != nullptr) read_periodic(*periodic, mesh);
  });
  is_good &= attempt(mistakes, [&] {
    if (levels != nullptr) read_levels(*levels, mesh);
  });
  is_good &= attempt(mistakes, [&] {
    if (covered != nullptr) read_covered(*covered, mesh);
  });
  return is_good && read_metric(reader, mesh, mistakes);
}

bool read_rectilinear(Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  const Value* periodic = reader.find("periodic");
  const Value* covered = reader.find("covered");
  return read_faces(reader, mesh, mistakes) &&
         attempt(mistakes,
                 [&] {
                   if (covered != nullptr) read_covered(*covered, mesh);
                 }) &&
         attempt(mistakes,
                 [&] {
                   if (periodic != nullptr) read_periodic(*periodic, mesh);
                 }) &&
         read_metric(reader, mesh, mistakes);
}

}  // namespace pillion::model

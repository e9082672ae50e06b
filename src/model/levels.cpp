// SPDX-License-Identifier: BSD-3-Clause
// Levels of refinement of a uniform mesh: how many cells each has, and reading them.
#include <algorithm>

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

}  // namespace pillion::model

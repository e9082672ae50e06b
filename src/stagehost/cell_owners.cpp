// SPDX-License-Identifier: BSD-3-Clause
// By place, every rank calculates the owner of its cells from the box around all of them, which one
// reduction finds. By key it needs the key alone.
#include "stagehost/cell_owners.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/agreement.hpp"
#include "layout/assignment.hpp"
#include "layout/cell.hpp"
#include "stagehost/block_geometry.hpp"

namespace pillion::stagehost {

using model::Array;
using model::Block;
using model::Topology;
using Place = std::array<double, 3>;

SpaceDivision::SpaceDivision(const Place& lo, const Place& hi, int ranks) : lo_(lo), hi_(hi) {
  layout::Vector widths{};
  double longest = 0;
  for (size_t d = 0; d < 3; ++d) longest = std::max(longest, hi[d] - lo[d]);
  // An axis without extent is not divided unless no other has one.
  for (size_t d = 0; d < 3; ++d)
    widths[d] = std::max(hi[d] - lo[d], longest > 0 ? longest * 1e-9 : 1.0);
  parts_ = layout::division(ranks, widths);
}

int SpaceDivision::rank_of(const Place& place) const {
  int rank = 0, step = 1;
  for (size_t d = 0; d < 3; ++d) {
    const double length = hi_[d] - lo_[d];
    const double at = length > 0 ? (place[d] - lo_[d]) / length * parts_[d] : 0;
    rank += step * std::clamp(static_cast<int>(at), 0, parts_[d] - 1);
    step *= parts_[d];
  }
  return rank;
}

namespace {

template <class T>
std::vector<Place> centres_of(const Topology& topology, const Array& points) {
  std::vector<Place> out(static_cast<size_t>(topology.cells()));
  const T* data = static_cast<const T*>(points.data);
  for (size_t c = 0; c < out.size(); ++c) {
    int64_t count = 0;
    for (int64_t i = topology.offsets[c]; i < topology.offsets[c + 1]; ++i, ++count) {
      const int64_t point = topology.points[static_cast<size_t>(i)];
      for (int32_t d = 0; d < points.components; ++d)
        out[c][static_cast<size_t>(d)] +=
            static_cast<double>(data[point * points.strides[0] + points.component_at(d)]);
    }
    for (double& x : out[c]) x = count > 0 ? x / static_cast<double>(count) : 0;
  }
  return out;
}

/// By cell.
std::vector<Place> centres_of(const Block& block, const model::Mesh& mesh,
                              const Topology& topology) {
  const auto& points = geometry_of(block, model::coordinates_of(mesh.name));
  auto out = points.type == model::ElementType::Float32 ? centres_of<float>(topology, points)
                                                        : centres_of<double>(topology, points);
  for (size_t c = 0; c < out.size(); ++c)
    for (const double x : out[c])
      if (!std::isfinite(x))
        base::fail(ErrorCode::Sharing,
                   "cell {} of block {} of mesh '{}' has a point that is not finite", c,
                   block.number(), mesh.name);
  return out;
}

/// The division of the box around the centres of all ranks. [collective]
SpaceDivision division_of(const std::vector<std::vector<Place>>& centres,
                          const ExecutionContext& context) {
  std::array<double, 6> ends;  // greatest coordinates, and the least with the other sign
  ends.fill(std::numeric_limits<double>::lowest());
  for (const auto& of_block : centres)
    for (const auto& centre : of_block)
      for (size_t d = 0; d < 3; ++d) {
        ends[d] = std::max(ends[d], centre[d]);
        ends[d + 3] = std::max(ends[d + 3], -centre[d]);
      }
  context.fence->before_collective();
  context.peers->reduce(ends.data(), 6, comm::Operation::Max);
  if (ends[0] < -ends[3]) ends.fill(0);  // no rank has a cell
  return {{-ends[3], -ends[4], -ends[5]}, {ends[0], ends[1], ends[2]}, context.peers->size()};
}

template <class T>
std::vector<int64_t> integers_in(const Array& array, int64_t count) {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(count));
  const T* data = static_cast<const T*>(array.data);
  for (int64_t c = 0; c < count; ++c)
    out.push_back(data[c * array.strides[0] + array.component_at(0)]);
  return out;
}

}  // namespace

CellOwners owners_by_place(const std::vector<Block>& blocks, const model::Mesh& mesh,
                           const std::vector<Topology>& topologies,
                           const ExecutionContext& context) {
  std::vector<std::vector<Place>> centres;
  for (size_t b = 0; b < blocks.size(); ++b)
    centres.push_back(centres_of(blocks[b], mesh, topologies[b]));
  const auto division = division_of(centres, context);
  CellOwners out;
  for (const auto& of_block : centres) {
    auto& owners = out.emplace_back();
    for (const auto& centre : of_block) owners.push_back(division.rank_of(centre));
  }
  return out;
}

CellKeys keys_from_field(const std::vector<Block>& blocks, const model::Mesh& mesh,
                         const std::string& field) {
  CellKeys out;
  for (const auto& block : blocks) {
    const auto at = block.arrays.find(field);
    if (at == block.arrays.end())
      base::fail(ErrorCode::Sharing,
                 "block {} of mesh '{}' came without field '{}', the key of its cells; share the "
                 "field in every block",
                 block.number(), mesh.name, field);
    const int64_t cells = block.box.extent(0);
    out.push_back(at->second.type == model::ElementType::Int32
                      ? integers_in<int32_t>(at->second, cells)
                      : integers_in<int64_t>(at->second, cells));
  }
  return out;
}

CellKeys keys_from_ids(const std::vector<Block>& blocks, const model::Mesh& mesh,
                       const std::vector<Topology>& topologies) {
  CellKeys out;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const auto& ids = topologies[b].ids;
    if (ids.empty() && topologies[b].cells() > 0)
      base::fail(ErrorCode::Sharing,
                 "the {} cells of block {} of mesh '{}' came without ids, which are their keys "
                 "where a stage names no field; share ids with the cells, or name a field",
                 topologies[b].cells(), blocks[b].number(), mesh.name);
    out.emplace_back(ids.begin(), ids.end());
  }
  return out;
}

CellOwners owners_by_key(const CellKeys& keys, int ranks) {
  CellOwners out;
  for (const auto& of_block : keys) {
    auto& owners = out.emplace_back();
    for (const int64_t key : of_block) owners.push_back(layout::owner_of(key, ranks));
  }
  return out;
}

}  // namespace pillion::stagehost

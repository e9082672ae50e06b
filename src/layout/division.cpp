// SPDX-License-Identifier: BSD-3-Clause
// For each box and each periodic image of it, the boxes that it reaches; and what requests mean.
#include "layout/division.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "layout/boxes.hpp"

namespace pillion::layout {

namespace {

Box shifted(Box box, const Index3& shift) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] += shift[d], box.hi[d] += shift[d];
  return box;
}

/// How often the domain must be repeated on each side for its ghost cells.
Index3 images_of(const Wanted& wanted) {
  Index3 images{0, 0, 0};
  const Box& domain = wanted.tiling.domain();
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t extent = domain.extent(d);
    if (wanted.periodic[i] && extent > 0) images[i] = (wanted.ghosts[i] + extent - 1) / extent;
  }
  return images;
}

struct Bound {
  int rank;
  Move move;
};

void add_moves(int32_t from, const Box& box, const Index3& shift, const Wanted& wanted,
               std::vector<Bound>& out) {
  const Box image = shifted(box, shift);
  wanted.tiling.each_near(image, wanted.ghosts, [&](const Place& place) {
    if (is_empty(place.box)) return;
    const Box region = common(image, wanted.grown(place.box));
    if (!is_empty(region)) out.push_back({place.rank, {from, place.number, region, shift}});
  });
}

}  // namespace

Box Wanted::grown(const Box& box) const {
  Box out = box;
  if (is_empty(box)) return out;
  const Box& domain = tiling.domain();
  for (size_t d = 0; d < 3; ++d) {
    out.lo[d] -= ghosts[d];
    out.hi[d] += ghosts[d];
    if (periodic[d]) continue;
    out.lo[d] = std::max(out.lo[d], domain.lo[d]);
    out.hi[d] = std::min(out.hi[d], domain.hi[d]);
  }
  return out;
}

std::vector<Moves> plan_moves(const std::vector<Box>& here, const Wanted& wanted) {
  const Index3 images = images_of(wanted);
  const Box& domain = wanted.tiling.domain();
  std::vector<Bound> all;
  for (size_t b = 0; b < here.size(); ++b) {
    if (is_empty(here[b])) continue;
    for (int64_t z = -images[2]; z <= images[2]; ++z)
      for (int64_t y = -images[1]; y <= images[1]; ++y)
        for (int64_t x = -images[0]; x <= images[0]; ++x)
          add_moves(static_cast<int32_t>(b), here[b],
                    {x * domain.extent(0), y * domain.extent(1), z * domain.extent(2)}, wanted,
                    all);
  }
  // By box of the receiver, so that it writes one after the other.
  std::stable_sort(all.begin(), all.end(), [](const Bound& a, const Bound& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.move.to < b.move.to;
  });
  std::vector<Moves> out;
  for (auto& [rank, move] : all) {
    if (out.empty() || out.back().rank != rank) out.push_back({rank, {}, 0});
    out.back().cells += move.region.volume();
    out.back().moves.push_back(move);
  }
  return out;
}

namespace {

/// The exponent of the smallest power of two that is not below `cells`.
int covering(int64_t cells) { return std::bit_width(static_cast<uint64_t>(cells - 1)); }

bool is_open(int side) { return side <= PILLION_SIDE_FIT && side >= PILLION_SIDE_ENLARGED_CUBE; }

std::string fault_of_axis(int axis, const model::Mesh& mesh) {
  if (axis >= 0 && axis < mesh.axes) return {};
  return fmt::format("mesh '{}' has no axis {} to divide by; its axes are 0 to {}", mesh.name, axis,
                     mesh.axes - 1);
}

std::string fault_of_side(int side, int axis, const model::Mesh& mesh) {
  const int64_t cells = mesh.cells[static_cast<size_t>(axis)];
  if (is_open(side)) return {};
  if (side < 0)
    return fmt::format(
        "boxes cannot have 2^{} cells along axis {} of mesh '{}'; the exponent is at least 0, or "
        "one of pillion_side",
        side, axis, mesh.name);
  if (side <= covering(cells)) return {};
  return fmt::format(
      "boxes of 2^{} cells along axis {} are too large for mesh '{}', which has {} cells there; "
      "the exponent is at most {}",
      side, axis, mesh.name, cells, covering(cells));
}

std::string fault_of_ghosts(int64_t width, int axis, const model::Mesh& mesh) {
  if (width >= 0) return {};
  return fmt::format("{} ghost cells along axis {} of mesh '{}'; a width is at least 0", width,
                     axis, mesh.name);
}

Tiling tiling_of(const Request& request, const model::Mesh& mesh, int ranks) {
  const Box domain{{0, 0, 0}, mesh.cells};
  switch (request.kind) {
    case Kind::Blocks: return Tiling::blocks(domain, mesh.axes, ranks);
    case Kind::Slabs: return Tiling::slabs(domain, request.axis, ranks);
    case Kind::Pencils: return Tiling::pencils(domain, mesh.axes, request.axis, ranks);
    case Kind::Transform:
      if (mesh.axes == 3 && ranks <= mesh.cells[2]) return Tiling::slabs(domain, 2, ranks);
      return Tiling::pencils(domain, mesh.axes, 0, ranks);
    default: break;
  }
  auto sides = request.sides;
  for (int d = mesh.axes; d < 3; ++d) sides[static_cast<size_t>(d)] = 0;
  return Tiling::powers_of_two(domain, sides, ranks);
}

}  // namespace

std::string mesh_of(const Request& request, const model::Catalogue& catalogue) {
  return catalogue.field(request.fields.front()).mesh;
}

std::string fault_of(const Request& request, const model::Mesh& mesh) {
  std::string fault;
  if (request.kind == Kind::Slabs || request.kind == Kind::Pencils)
    fault = fault_of_axis(request.axis, mesh);
  for (int d = 0; d < mesh.axes && fault.empty(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (request.kind == Kind::PowersOfTwo) fault = fault_of_side(request.sides[i], d, mesh);
    if (fault.empty()) fault = fault_of_ghosts(request.ghosts[i], d, mesh);
  }
  if (fault.empty() && request.in_parts && request.ghosts != std::array<int64_t, 3>{})
    fault = "boxes with ghost cells cannot come in parts";
  return fault;
}

bool has_open_sides(const Request& request) {
  return request.kind == Kind::PowersOfTwo &&
         std::any_of(request.sides.begin(), request.sides.end(), is_open);
}

Request with_sides(Request request, const std::array<int64_t, 3>& longest,
                   const model::Mesh& mesh) {
  const int64_t of_all = *std::max_element(longest.begin(), longest.end());
  for (size_t d = 0; d < 3; ++d) {
    int& side = request.sides[d];
    if (!is_open(side)) continue;
    const bool cube = side <= PILLION_SIDE_FIT_CUBE;
    const bool enlarged = side == PILLION_SIDE_ENLARGED || side == PILLION_SIDE_ENLARGED_CUBE;
    const int fit = covering(std::max<int64_t>(cube ? of_all : longest[d], 1));
    side = std::min(fit + (enlarged ? 1 : 0), covering(mesh.cells[d]));
  }
  return request;
}

void check_coverage(const std::string& field, const std::string& mesh, int64_t cells,
                    int64_t came) {
  if (came != cells)
    base::fail(
        ErrorCode::Sharing,
        "a peer needs {} cells of mesh '{}', but field '{}' is shared on {} of them; to divide a "
        "mesh again, each of its cells must be shared by one rank",
        cells, mesh, field, came);
}

Wanted wanted_of(const Request& request, const model::Mesh& mesh, int ranks) {
  Wanted wanted{tiling_of(request, mesh, ranks), {0, 0, 0}, {}};
  for (size_t d = 0; d < static_cast<size_t>(mesh.axes); ++d) {
    wanted.ghosts[d] = request.ghosts[d];
    wanted.periodic[d] = mesh.periodic[d];
  }
  return wanted;
}

}  // namespace pillion::layout

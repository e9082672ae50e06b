// SPDX-License-Identifier: BSD-3-Clause
// One pass over all particles, tile by tile. Finding where they are needs no branch; particles that
// several ranks see are copied afterwards.
#include "layout/assignment.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "layout/cell.hpp"
#include "layout/particle_moves.hpp"

namespace pillion::layout {

using model::Array;
using model::Block;
using model::MeshBlocks;

namespace {

int64_t integer_at(const Array& array, int64_t index) {
  const int64_t at = index * array.strides[0];
  return array.type == model::ElementType::Int32 ? static_cast<const int32_t*>(array.data)[at]
                                                 : static_cast<const int64_t*>(array.data)[at];
}

int64_t particles_of(const MeshBlocks& mine) {
  int64_t particles = 0;
  for (const auto& block : mine.blocks) particles += block.owned;
  return particles;
}

/// Which particles of a block are wanted.
class Selection {
 public:
  Selection(const Block& block, const Request& request)
      : select_(request.select.empty() ? nullptr : &array_of(block, request.select)),
        values_(request.select_values) {}
  [[nodiscard]] bool has(int64_t i) const {
    return select_ == nullptr ||
           std::find(values_.begin(), values_.end(), integer_at(*select_, i)) != values_.end();
  }

 private:
  const Array* select_;
  const std::vector<int64_t>& values_;
};

class SpatialAssignment {
 public:
  SpatialAssignment(const Cell& cell, double halo, int ranks, Assignment& out)
      : cell_(cell),
        axes_(axes_of(cell, halo, ranks)),
        steps_{1, axes_[0].parts(), axes_[0].parts() * axes_[1].parts()},
        is_narrow_(axes_[0].is_narrow() && axes_[1].is_narrow() && axes_[2].is_narrow()),
        out_(out) {}

  /// `first`: how many particles come before the block.
  template <class T>
  void assign(const Block& block, const Array& positions, const Request& request, int64_t first) {
    const Selection selection(block, request);
    const int64_t next = positions.strides[0];
    const int64_t y = positions.component_at(1), z = positions.component_at(2);
    const T* at = static_cast<const T*>(positions.data);
    for (int64_t begin = 0; begin < block.owned; begin += static_cast<int64_t>(tile_size)) {
      const int64_t count = std::min<int64_t>(block.owned - begin, tile_size);
      for (int64_t i = 0; i < count; ++i, at += next) {
        const Vector f = cell_.fractional(
            {static_cast<double>(at[0]), static_cast<double>(at[y]), static_cast<double>(at[z])});
        for (size_t d = 0; d < 3; ++d) fractional_[d][static_cast<size_t>(i)] = f[d];
      }
      locate();
      assign_tile(block, selection, first, begin, count);
    }
  }

 private:
  using Spans = std::array<Axis::Span, 3>;
  static constexpr size_t tile_size = 256;
  static constexpr int32_t outside = 64;  ///< above the bits of the axes, two for each

  /// Notes where the particles of a tile are: axis by axis and without a branch, so that the
  /// compiler can do several at once, and since which are near a face cannot be foreseen.
  void locate() {
    std::array<double, tile_size> rank{}, near{};
    for (size_t d = 0; d < 3; ++d) {
      const auto bit = static_cast<double>(1 << (2 * d));
      axes_[d].locate(fractional_[d], [&](size_t i, double part, double below, double above,
                                          double outside_of_domain) {
        rank[i] += part * steps_[d];
        near[i] += bit * below + 2 * bit * above + outside * outside_of_domain;
      });
    }
    for (size_t i = 0; i < tile_size; ++i) {
      rank_[i] = static_cast<int32_t>(rank[i]);
      near_[i] = static_cast<int32_t>(near[i]);
    }
  }

  void assign_tile(const Block& block, const Selection& selection, int64_t first, int64_t begin,
                   int64_t count) {
    std::array<int32_t, tile_size> seen_by_others;
    size_t others = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto t = static_cast<size_t>(i);
      if (!selection.has(begin + i)) {
        out_.leave_out(first + begin + i);
        continue;
      }
      if (near_[t] < outside) out_.own(rank_[t], first + begin + i);
      seen_by_others[others] = static_cast<int32_t>(i);
      others += near_[t] != 0 ? 1 : 0;
    }
    for (size_t o = 0; o < others; ++o) {
      const auto t = static_cast<size_t>(seen_by_others[o]);
      const int64_t index = begin + seen_by_others[o];
      const auto near = static_cast<uint32_t>(near_[t]);
      const Vector f{fractional_[0][t], fractional_[1][t], fractional_[2][t]};
      if (is_narrow_ && std::has_single_bit(near) && near < outside) {
        copy_across(first + index, rank_[t], std::countr_zero(near));
      } else if (near < outside) {
        copy(first + index, f);
      } else {
        if (!can_place(f)) refuse(block, index, f);
        out_.own(copy(first + index, f), first + index);
      }
    }
  }

  [[nodiscard]] bool can_place(const Vector& f) const {
    return axes_[0].can_place(f[0]) && axes_[1].can_place(f[1]) && axes_[2].can_place(f[2]);
  }

  static std::array<Axis, 3> axes_of(const Cell& cell, double halo, int ranks) {
    const auto parts = division(ranks, cell.widths(), cell.dimensions());
    return {Axis(cell, 0, parts[0], halo), Axis(cell, 1, parts[1], halo),
            Axis(cell, 2, parts[2], halo)};
  }

  [[noreturn]] static void refuse(const Block& block, int64_t index, const Vector& f) {
    for (const double x : f)
      if (!std::isfinite(x))
        base::fail(ErrorCode::Stage, "particle {} of block {} has a position that is not finite",
                   index, block.number());
    base::fail(ErrorCode::Stage,
               "particle {} of block {} lies more than {} periods outside the domain: at {}, {}, "
               "{} of its edges",
               index, block.number(), Axis::most_periods, f[0], f[1], f[2]);
  }

  [[nodiscard]] int rank_of(int64_t x, int64_t y, int64_t z) const {
    return static_cast<int>(x * steps_[0] + y * steps_[1] + z * steps_[2]);
  }

  /// Copies a particle to all that see it; returns its owner.
  int copy(int64_t particle, const Vector& f) {
    const Spans spans{axes_[0].span(f[0]), axes_[1].span(f[1]), axes_[2].span(f[2])};
    out_.displace(particle, {-spans[0].wrap, -spans[1].wrap, -spans[2].wrap});
    copy_to_all(particle, spans);
    return rank_of(spans[0].owner, spans[1].owner, spans[2].owner);
  }

  /// Near one face alone, as most are: the one above or below along an axis.
  void copy_across(int64_t particle, int rank, int bit) {
    const auto d = static_cast<size_t>(bit / 2);
    const int part = rank / steps_[d] % axes_[d].parts();
    const auto next = axes_[d].neighbour(part, bit % 2 != 0);
    if (!next) return;
    Index edges{};
    edges[d] = next->edges;
    out_.copy(rank + (static_cast<int>(next->part) - part) * steps_[d], particle,
              {edges[0], edges[1], edges[2]});
  }

  void copy_to_all(int64_t particle, const Spans& spans) {
    axes_[2].each(spans[2], [&](int64_t z, int64_t edges_z, bool home_z) {
      axes_[1].each(spans[1], [&](int64_t y, int64_t edges_y, bool home_y) {
        axes_[0].each(spans[0], [&](int64_t x, int64_t edges_x, bool home_x) {
          if (home_x && home_y && home_z) return;
          out_.copy(rank_of(x, y, z), particle, {edges_x, edges_y, edges_z});
        });
      });
    });
  }

  const Cell& cell_;
  std::array<Axis, 3> axes_;
  std::array<int, 3> steps_;  ///< from the rank of a part to that of the next, by axis
  bool is_narrow_;            ///< each part sees only particles of those beside it
  Assignment& out_;
  // Of a tile.
  std::array<std::array<double, tile_size>, 3> fractional_{};  ///< by axis
  std::array<int32_t, tile_size> rank_{}, near_{};
};

/// Calls use(block, keys, their values) for each block that has particles.
template <class Use>
void each_block_of_keys(const MeshBlocks& mine, const Request& request, Use&& use) {
  for (const auto& block : mine.blocks) {
    if (block.owned == 0) continue;
    const Array& keys = array_of(block, request.key);
    if (keys.type == model::ElementType::Int32)
      use(block, keys, static_cast<const int32_t*>(keys.data));
    else use(block, keys, static_cast<const int64_t*>(keys.data));
  }
}

}  // namespace

Assignment assign_by_key(const MeshBlocks& mine, const Request& request, int ranks) {
  Assignment out(ranks, particles_of(mine));
  int64_t first = 0;
  each_block_of_keys(mine, request, [&](const Block& block, const Array& keys, const auto* at) {
    const Selection selection(block, request);
    for (int64_t i = 0; i < block.owned; ++i, at += keys.strides[0]) {
      if (selection.has(i)) out.own(owner_of(*at, ranks), first + i);
      else out.leave_out(first + i);
    }
    first += block.owned;
  });
  out.finish();
  return out;
}

Assignment assign_spatial(const MeshBlocks& mine, const Request& request, const Cell& cell,
                          int ranks) {
  Assignment out(ranks, particles_of(mine));
  SpatialAssignment spatial(cell, request.halo, ranks, out);
  int64_t first = 0;
  for (const auto& block : mine.blocks) {
    if (block.owned == 0) continue;
    const Array& positions = array_of(block, request.position);
    positions.type == model::ElementType::Float32
        ? spatial.assign<float>(block, positions, request, first)
        : spatial.assign<double>(block, positions, request, first);
    first += block.owned;
  }
  out.finish();
  return out;
}

// As SpatialAssignment::rank_of counts them, and Axis::owner cuts them.
DomainPart spatial_part(const pillion_domain& domain, int rank, int ranks) {
  const Cell cell(domain);
  const auto parts = division(ranks, cell.widths(), cell.dimensions());
  const std::array<int, 3> at{rank % parts[0], rank / parts[0] % parts[1],
                              rank / parts[0] / parts[1]};
  DomainPart part{};
  for (size_t d = 0; d < 3; ++d) {
    part.lo[d] = static_cast<double>(at[d]) / parts[d];
    part.hi[d] = static_cast<double>(at[d] + 1) / parts[d];
  }
  return part;
}

}  // namespace pillion::layout

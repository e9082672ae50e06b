// SPDX-License-Identifier: BSD-3-Clause
// One pass over all particles, in which the usual case, a particle for one rank, costs no branch
// that the processor cannot foresee.
#include "layout/assignment.hpp"

#include <algorithm>
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

/// Calls assign(values, particle) for the selected particles of a block, before which there are
/// `first` others; `values` points to the first component of the field.
template <class T, class Assign>
void assign_block(const Block& block, const Array& array, const Request& request, int64_t first,
                  Assignment& out, Assign&& assign) {
  const Array* select = request.select.empty() ? nullptr : &array_of(block, request.select);
  const auto& values = request.select_values;
  const auto is_selected = [&](int64_t i) {
    return std::find(values.begin(), values.end(), integer_at(*select, i)) != values.end();
  };
  const T* at = static_cast<const T*>(array.data);
  for (int64_t i = 0; i < block.owned; ++i, at += array.strides[0]) {
    if (select == nullptr || is_selected(i)) assign(at, first + i);
    else out.leave_out(first + i);
  }
}

class SpatialAssignment {
 public:
  SpatialAssignment(const Cell& cell, double halo, int ranks, Assignment& out)
      : cell_(cell), axes_(axes_of(cell, halo, ranks)), out_(out) {}

  /// `first`: how many particles come before the block.
  void assign(const Block& block, int64_t first, int64_t particle, const Vector& position) {
    const Vector f = cell_.fractional(position);
    if (is_inside(f[0]) && is_inside(f[1]) && is_inside(f[2])) {
      const auto x = axes_[0].owner(f[0]), y = axes_[1].owner(f[1]), z = axes_[2].owner(f[2]);
      if (x.alone && y.alone && z.alone) return out_.own(rank_of(x.part, y.part, z.part), particle);
    } else if (!can_place(f)) {
      refuse(block, particle - first, f);
    }
    out_.own(copy(particle, f), particle);
  }

 private:
  using Spans = std::array<Axis::Span, 3>;

  static bool is_inside(double f) { return f >= 0 && f < 1; }

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
    return static_cast<int>((z * axes_[1].parts() + y) * axes_[0].parts() + x);
  }

  /// Copies a particle to all that see it; returns its owner.
  int copy(int64_t particle, const Vector& f) {
    const Spans spans{axes_[0].span(f[0]), axes_[1].span(f[1]), axes_[2].span(f[2])};
    const std::array<int64_t, 3> more{spans[0].last - spans[0].first,
                                      spans[1].last - spans[1].first,
                                      spans[2].last - spans[2].first};
    out_.displace(particle, {-spans[0].wrap, -spans[1].wrap, -spans[2].wrap});
    if (more[0] + more[1] + more[2] == 1) copy_across(particle, spans, more[1] + 2 * more[2]);
    else copy_to_all(particle, spans);
    return rank_of(spans[0].owner, spans[1].owner, spans[2].owner);
  }

  /// Near one face alone, as most are: there is no loop whose length cannot be foreseen.
  void copy_across(int64_t particle, const Spans& spans, int64_t axis) {
    Index at{spans[0].owner, spans[1].owner, spans[2].owner};
    Index edges{-spans[0].wrap, -spans[1].wrap, -spans[2].wrap};
    const auto d = static_cast<size_t>(axis);
    const auto image = axes_[d].image(spans[d], spans[d].first + spans[d].last - spans[d].owner);
    at[d] = image.part;
    edges[d] = image.edges;
    out_.copy(rank_of(at[0], at[1], at[2]), particle, {edges[0], edges[1], edges[2]});
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
  Assignment& out_;
};

}  // namespace

Assignment assign_by_key(const MeshBlocks& mine, const Request& request, int ranks) {
  Assignment out(ranks, particles_of(mine));
  int64_t first = 0;
  for (const auto& block : mine.blocks) {
    if (block.owned == 0) continue;
    const auto own = [&](const auto* key, int64_t particle) {
      out.own(owner_of(*key, ranks), particle);
    };
    const Array& keys = array_of(block, request.key);
    keys.type == model::ElementType::Int32
        ? assign_block<int32_t>(block, keys, request, first, out, own)
        : assign_block<int64_t>(block, keys, request, first, out, own);
    first += block.owned;
  }
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
    const int64_t step = positions.strides[3];
    const auto assign = [&](const auto* x, int64_t particle) {
      spatial.assign(block, first, particle, {x[0], x[step], x[2 * step]});
    };
    positions.type == model::ElementType::Float32
        ? assign_block<float>(block, positions, request, first, out, assign)
        : assign_block<double>(block, positions, request, first, out, assign);
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

// SPDX-License-Identifier: BSD-3-Clause
// One pass over all particles, in which the usual case, a particle for one rank, costs no branch
// that the processor cannot foresee but whether it lengthens a run.
#include "layout/assignment.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "layout/cell.hpp"
#include "layout/particle_moves.hpp"

namespace pillion::layout {

std::vector<SendList> SendLists::take() {
  std::vector<SendList> out;
  for (auto& slot : all_)
    out.push_back({slot.rank, std::move(slot.owned.list), std::move(slot.copies.list)});
  std::sort(out.begin(), out.end(),
            [](const SendList& a, const SendList& b) { return a.rank < b.rank; });
  return out;
}

using model::Array;
using model::Block;
using model::MeshBlocks;

namespace {

int64_t integer_at(const Array& array, int64_t index) {
  const int64_t at = index * array.strides[0];
  return array.type == model::ElementType::Int32 ? static_cast<const int32_t*>(array.data)[at]
                                                 : static_cast<const int64_t*>(array.data)[at];
}

Vector vector_at(const Array& array, int64_t index) {
  Vector v{};
  for (int c = 0; c < 3; ++c) {
    const int64_t at = index * array.strides[0] + c * array.strides[3];
    v[c] = array.type == model::ElementType::Float32 ? static_cast<const float*>(array.data)[at]
                                                     : static_cast<const double*>(array.data)[at];
  }
  return v;
}

/// Whether the request selects a particle of a block.
class Selection {
 public:
  Selection(const Block& block, const Request& request)
      : field_(request.select.empty() ? nullptr : &array_of(block, request.select)),
        values_(request.select_values) {}
  [[nodiscard]] bool has(int64_t index) const {
    return field_ == nullptr ||
           std::find(values_.begin(), values_.end(), integer_at(*field_, index)) != values_.end();
  }

 private:
  const Array* field_;
  const std::vector<int64_t>& values_;
};

/// Calls assign(array, index, block) for the particles of one field that are selected.
template <class Assign>
void assign_all(const MeshBlocks& mine, const Request& request, const std::string& field,
                SendLists& lists, Assign&& assign) {
  for (size_t b = 0; b < mine.blocks.size(); ++b) {
    const Block& block = mine.blocks[b];
    if (block.owned == 0) continue;
    const Selection selection(block, request);
    const Array& array = array_of(block, field);
    for (int64_t begin = 0; begin < block.owned; begin += SendLists::longest_range) {
      lists.begin(static_cast<int32_t>(b), begin);
      const int64_t end = std::min(block.owned, begin + SendLists::longest_range);
      for (int64_t i = begin; i < end; ++i)
        if (selection.has(i)) assign(array, i, block);
    }
  }
}

class SpatialAssignment {
 public:
  SpatialAssignment(const Cell& cell, double halo, int ranks, SendLists& lists)
      : cell_(cell), axes_(axes_of(cell, halo, ranks)), lists_(lists) {}

  void assign(const Block& block, int64_t index, const Vector& position) {
    const Vector f = cell_.fractional(position);
    if (is_inside(f[0]) && is_inside(f[1]) && is_inside(f[2])) {
      const auto x = axes_[0].owner(f[0]), y = axes_[1].owner(f[1]), z = axes_[2].owner(f[2]);
      if (x.alone && y.alone && z.alone) return lists_.own(rank_of(x.part, y.part, z.part), index);
    }
    assign_to_several(block, index, f);
  }

 private:
  using Spans = std::array<Axis::Span, 3>;

  static bool is_inside(double f) { return f >= 0 && f < 1; }

  void assign_to_several(const Block& block, int64_t index, const Vector& f) {
    if (!axes_[0].can_place(f[0]) || !axes_[1].can_place(f[1]) || !axes_[2].can_place(f[2]))
      refuse(block, index, f);
    const Spans spans{axes_[0].span(f[0]), axes_[1].span(f[1]), axes_[2].span(f[2])};
    const int owner = rank_of(spans[0].owner, spans[1].owner, spans[2].owner);
    lists_.own(owner, index, {-spans[0].wrap, -spans[1].wrap, -spans[2].wrap});
    copy(index, spans);
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

  void copy(int64_t index, const Spans& spans) {
    axes_[2].each(spans[2], [&](int64_t z, int64_t edges_z, bool home_z) {
      axes_[1].each(spans[1], [&](int64_t y, int64_t edges_y, bool home_y) {
        axes_[0].each(spans[0], [&](int64_t x, int64_t edges_x, bool home_x) {
          if (home_x && home_y && home_z) return;
          lists_.copy(rank_of(x, y, z), index, {edges_x, edges_y, edges_z});
        });
      });
    });
  }

  const Cell& cell_;
  std::array<Axis, 3> axes_;
  SendLists& lists_;
};

}  // namespace

std::vector<SendList> assign_by_key(const MeshBlocks& mine, const Request& request, int ranks) {
  SendLists lists(ranks);
  assign_all(mine, request, request.key, lists, [&](const Array& keys, int64_t i, const Block&) {
    lists.own(owner_of(integer_at(keys, i), ranks), i);
  });
  return lists.take();
}

std::vector<SendList> assign_spatial(const MeshBlocks& mine, const Request& request,
                                     const Cell& cell, int ranks) {
  SendLists lists(ranks);
  SpatialAssignment assignment(cell, request.halo, ranks, lists);
  assign_all(mine, request, request.position, lists,
             [&](const Array& positions, int64_t i, const Block& block) {
               assignment.assign(block, i, vector_at(positions, i));
             });
  return lists.take();
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

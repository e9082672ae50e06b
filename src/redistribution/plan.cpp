// SPDX-License-Identifier: BSD-3-Clause
// Wanted boxes take two sparse exchanges: boxes to the ranks of their places, and moves back.
#include "redistribution/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "comm/agreement.hpp"
#include "comm/message.hpp"
#include "layout/boxes.hpp"

namespace pillion::redistribution {

using layout::Box;
using layout::Index3;
using layout::Move;
using layout::Moves;

namespace {

/// A part of a box in the place of one rank.
struct BoxPart {
  int32_t rank;    ///< whose box it is
  int32_t number;  ///< among its boxes
  Box box;         ///< within the domain
  Index3 shift;    ///< of wanted parts: where they are wanted, minus where they are
};

/// A move, and to whom.
struct Order {
  int32_t rank;
  Move move;
};

Box shifted(Box box, const Index3& shift, int64_t sign) {
  for (size_t d = 0; d < 3; ++d) {
    box.lo[d] += sign * shift[d];
    box.hi[d] += sign * shift[d];
  }
  return box;
}

/// Calls deed(part of the domain, shift) for each image of the domain that a box reaches.
template <class Deed>
void each_image(const Box& box, const WantedBoxes& wanted, Deed&& deed) {
  const Box& domain = wanted.domain;
  Index3 first{0, 0, 0}, last{0, 0, 0};
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t extent = domain.extent(d);
    if (!wanted.periodic[i] || extent <= 0) continue;
    const auto image = [&](int64_t cell) {
      const int64_t at = cell - domain.lo[i];
      return (at >= 0 ? at : at - extent + 1) / extent;
    };
    first[i] = image(box.lo[i]);
    last[i] = image(box.hi[i] - 1);
  }
  for (int64_t z = first[2]; z <= last[2]; ++z)
    for (int64_t y = first[1]; y <= last[1]; ++y)
      for (int64_t x = first[0]; x <= last[0]; ++x) {
        const Index3 shift{x * domain.extent(0), y * domain.extent(1), z * domain.extent(2)};
        const Box inside = layout::common(shifted(box, shift, -1), domain);
        if (!layout::is_empty(inside)) deed(inside, shift);
      }
}

class BoxParts {
 public:
  BoxParts(const comm::Communicator& ranks, const Box& domain)
      : rank_(ranks.rank()), places_(layout::Tiling::blocks(domain, 3, ranks.size())) {}

  void add(bool is_wanted, size_t number, const Box& box, const Index3& shift) {
    places_.each_near(box, {0, 0, 0}, [&](const layout::Place& place) {
      const Box part = layout::common(box, place.box);
      if (layout::is_empty(part)) return;
      out_[place.rank].put(static_cast<int32_t>(is_wanted));
      out_[place.rank].put(BoxPart{rank_, static_cast<int32_t>(number), part, shift});
    });
  }
  std::map<int, base::Bytes> take() {
    std::map<int, base::Bytes> out;
    for (auto& [rank, writer] : out_) out[rank] = writer.take();
    return out;
  }

 private:
  int rank_;
  layout::Tiling places_;
  std::map<int, base::ByteWriter> out_;
};

std::vector<Box> boxes_of(const std::vector<BoxPart>& parts) {
  std::vector<Box> boxes;
  for (const auto& part : parts) boxes.push_back(part.box);
  return boxes;
}

/// The messages of the ranks that have boxes here.
std::map<int, base::Bytes> orders_for(const std::map<int, base::Bytes>& boxes) {
  std::vector<BoxPart> had, wanted;
  for (const auto& [rank, bytes] : boxes)
    for (base::ByteReader in(bytes); !in.done();) {
      const bool is_wanted = in.get<int32_t>() != 0;
      (is_wanted ? wanted : had).push_back(in.get<BoxPart>());
    }
  std::map<int, base::ByteWriter> writers;
  for (const auto& [a, b, region] : layout::overlaps(boxes_of(had), boxes_of(wanted))) {
    const BoxPart& from = had[a];
    const BoxPart& to = wanted[b];
    writers[from.rank].put(
        Order{to.rank, {from.number, to.number, shifted(region, to.shift, 1), to.shift}});
  }
  std::map<int, base::Bytes> out;
  for (auto& [rank, writer] : writers) out[rank] = writer.take();
  return out;
}

std::vector<Moves> moves_of(const std::map<int, base::Bytes>& orders) {
  std::vector<Order> all;
  for (const auto& [rank, bytes] : orders)
    for (base::ByteReader in(bytes); !in.done();) all.push_back(in.get<Order>());
  std::stable_sort(all.begin(), all.end(), [](const Order& a, const Order& b) {
    return std::tie(a.rank, a.move.to) < std::tie(b.rank, b.move.to);
  });
  std::vector<Moves> out;
  for (const auto& [rank, move] : all) {
    if (out.empty() || out.back().rank != rank) out.push_back({rank, {}, 0});
    out.back().moves.push_back(move);
    out.back().cells += move.region.volume();
  }
  return out;
}

}  // namespace

std::vector<Moves> plan_wanted_boxes(const comm::Communicator& ranks, const std::vector<Box>& here,
                                     const WantedBoxes& wanted) {
  comm::SparseExchange exchange(ranks, comm::tags::node_meeting);
  const auto boxes = exchange.made_by([&] {
    BoxParts parts(ranks, wanted.domain);
    for (size_t b = 0; b < here.size(); ++b) parts.add(false, b, here[b], {0, 0, 0});
    for (size_t b = 0; b < wanted.boxes.size(); ++b)
      each_image(wanted.boxes[b], wanted, [&](const Box& inside, const Index3& shift) {
        parts.add(true, b, inside, shift);
      });
    return parts.take();
  });
  const auto orders = exchange.made_by([&] { return orders_for(boxes); });
  std::vector<Moves> moves;
  comm::together(ranks, [&] { moves = moves_of(orders); });
  return moves;
}

layout::ParticleMoves plan_particles(const model::MeshBlocks& mine, const layout::Request& request,
                                     const pillion_domain& domain, int ranks) {
  return request.kind == layout::Kind::ByKey
             ? layout::ParticleMoves::by_key(mine, request, ranks)
             : layout::ParticleMoves::spatial(mine, request, domain, ranks);
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// Two sparse exchanges: boxes go to the ranks in whose parts of their level they are, and as
// covers to those of the next coarser level; the cells that are covered come back.
#include "redistribution/coverage.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "comm/agreement.hpp"
#include "comm/message.hpp"
#include "layout/boxes.hpp"
#include "layout/coverage.hpp"
#include "layout/tiling.hpp"

namespace pillion::redistribution {

using layout::Place;
using layout::Tiling;
using model::Box;
using model::Mesh;

namespace {

/// A box on its way to the rank that looks at a part of a level.
struct SentBox {
  int32_t level = 0;   ///< in whose cells the box is
  int32_t covers = 0;  ///< 1 for a box of the next finer level
  int32_t rank = 0;    ///< whose it is
  int32_t number = 0;  ///< of its block
  int64_t index = 0;   ///< among the boxes of its rank
  Box box;
  int64_t sharer = 0;  ///< the rank that shared its block, which may be of another side
};

struct SentPart {
  int64_t index = 0;
  Box cells;
};

Box coarse(Box box, const std::array<int64_t, 3>& ratio) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] /= ratio[d], box.hi[d] /= ratio[d];
  return box;
}

Box fine(Box box, const std::array<int64_t, 3>& ratio) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] *= ratio[d], box.hi[d] *= ratio[d];
  return box;
}

class Levels {
 public:
  Levels(const comm::Communicator& ranks, const Mesh& mesh, const std::string& field)
      : rank_(ranks.rank()), mesh_(mesh), field_(field) {
    for (int level = 0; level < mesh.levels(); ++level)
      parts_.push_back(
          Tiling::blocks({{0, 0, 0}, model::cells_of_level(mesh, level)}, 3, ranks.size()));
  }

  [[nodiscard]] std::map<int, base::Bytes> boxes_by_rank(const std::vector<MeshBox>& here) const {
    std::map<int, base::ByteWriter> writers;
    for (size_t b = 0; b < here.size(); ++b) {
      const auto& [level, number, box, sharer] = here[b];
      if (layout::is_empty(box)) continue;
      check_level(here[b]);
      SentBox sent{level, 0, rank_, number, static_cast<int64_t>(b), box, sharer};
      if (sharer < 0) sent.sharer = rank_;
      put(sent, writers);
      if (level == 0) continue;
      --sent.level;
      sent.covers = 1;
      sent.box = coarse(box, mesh_.ratios.at(static_cast<size_t>(level - 1)));
      put(sent, writers);
    }
    std::map<int, base::Bytes> out;
    for (auto& [rank, writer] : writers) out[rank] = writer.take();
    return out;
  }

  /// Looks at this rank's part of each level; throws for the first thing that is wrong, but for
  /// holes, which it keeps.
  [[nodiscard]] std::map<int, base::Bytes> look(const std::map<int, base::Bytes>& received) {
    std::vector<std::vector<SentBox>> boxes(parts_.size()), covers(parts_.size());
    for (const auto& [rank, bytes] : received)
      for (base::ByteReader in(bytes); !in.done();) {
        const auto sent = in.get<SentBox>();
        (sent.covers != 0 ? covers : boxes)[static_cast<size_t>(sent.level)].push_back(sent);
      }
    std::map<int, base::ByteWriter> writers;
    for (size_t level = 0; level < parts_.size(); ++level)
      for (const auto& place : parts_[level].places_of(rank_))
        if (!layout::is_empty(place.box))
          look(level, place.box, boxes[level], covers[level], writers);
    std::map<int, base::Bytes> out;
    for (auto& [rank, writer] : writers) out[rank] = writer.take();
    return out;
  }

  /// A part of level 0 that is in no box.
  [[nodiscard]] const std::optional<Box>& hole() const { return hole_; }

 private:
  /// Boxes may come from a message, whose words are checked before use.
  void check_level(const MeshBox& here) const {
    const auto levels = static_cast<int32_t>(parts_.size());
    bool fits = here.level >= 0 && here.level < levels;
    if (fits) {
      const Box& all = parts_[static_cast<size_t>(here.level)].domain();
      for (size_t d = 0; d < 3; ++d)
        fits = fits && here.box.lo[d] >= all.lo[d] && here.box.hi[d] <= all.hi[d];
    }
    if (!fits)
      base::fail(ErrorCode::Internal, "block {} of field '{}' is box {} of level {} of {}",
                 here.number, field_, model::to_string(here.box, 3), here.level, levels);
  }
  void put(const SentBox& sent, std::map<int, base::ByteWriter>& writers) const {
    parts_[static_cast<size_t>(sent.level)].each_near(sent.box, {0, 0, 0}, [&](const Place& place) {
      if (!layout::is_empty(place.box)) writers[place.rank].put(sent);
    });
  }

  static std::vector<Box> boxes_of(const std::vector<SentBox>& sent) {
    std::vector<Box> out;
    out.reserve(sent.size());
    for (const auto& one : sent) out.push_back(one.box);
    return out;
  }

  [[nodiscard]] std::string called(const SentBox& sent, const Box& box) const {
    return fmt::format("{} (block {} of rank {})", model::to_string(box, mesh_.axes), sent.number,
                       sent.sharer);
  }

  void look(size_t level, const Box& part, const std::vector<SentBox>& boxes,
            const std::vector<SentBox>& covers, std::map<int, base::ByteWriter>& writers) {
    const auto having = boxes_of(boxes);
    const auto fault = layout::find_coverage_fault(having, part);
    if (fault.overlap) {
      const auto& a = boxes[fault.overlap->first];
      const auto& b = boxes[fault.overlap->second];
      base::fail(ErrorCode::Sharing, "boxes {} and {} of field '{}' overlap{}", called(a, a.box),
                 called(b, b.box), field_,
                 mesh_.levels() > 1 ? fmt::format(" on level {}", level) : "");
    }
    if (level == 0 && fault.hole && !hole_) hole_ = fault.hole;
    if (covers.empty()) return;
    std::vector<int64_t> inside(covers.size());
    for (const auto& [a, b, region] : layout::overlaps(having, boxes_of(covers))) {
      const Box cells = layout::common(region, part);
      if (layout::is_empty(cells)) continue;
      inside[b] += cells.volume();
      writers[boxes[a].rank].put(SentPart{boxes[a].index, cells});
    }
    for (size_t c = 0; c < covers.size(); ++c)
      if (inside[c] != layout::common(covers[c].box, part).volume())
        base::fail(ErrorCode::Sharing,
                   "box {} of field '{}' on level {} has cells outside the boxes of level {}; "
                   "each box of a finer level lies within boxes of the level before",
                   called(covers[c], fine(covers[c].box, mesh_.ratios[level])), field_, level + 1,
                   level);
  }

  int rank_;
  const Mesh& mesh_;
  const std::string& field_;
  std::vector<Tiling> parts_;
  std::optional<Box> hole_;
};

int64_t cells_of(const std::vector<MeshBox>& boxes, int level) {
  int64_t cells = 0;
  for (const auto& one : boxes)
    if (one.level == level && !layout::is_empty(one.box)) cells += one.box.volume();
  return cells;
}

std::vector<Box> boxes_of(const std::vector<MeshBox>& all, int level) {
  std::vector<Box> boxes;
  for (const auto& one : all)
    if (one.level == level) boxes.push_back(one.box);
  return boxes;
}

}  // namespace

bool have_same_cells(const std::vector<MeshBox>& a, const std::vector<MeshBox>& b) {
  std::set<int32_t> levels;
  for (const auto* all : {&a, &b})
    for (const auto& one : *all) levels.insert(one.level);
  return std::all_of(levels.begin(), levels.end(), [&](int32_t level) {
    int64_t common = 0;
    for (const auto& overlap : layout::overlaps(boxes_of(a, level), boxes_of(b, level)))
      common += overlap.region.volume();
    return common == cells_of(a, level) && common == cells_of(b, level);
  });
}

std::vector<CoveredPart> find_covered(const comm::Communicator& ranks,
                                      const std::vector<MeshBox>& here, const Mesh& mesh,
                                      const std::string& field) {
  std::optional<Levels> levels;
  comm::together(ranks, [&] { levels.emplace(ranks, mesh, field); });
  const int64_t cells = ranks.reduced(cells_of(here, 0), comm::Operation::Sum);
  comm::SparseExchange exchange(ranks, comm::tags::box_meeting);
  const auto boxes = exchange.made_by([&] { return levels->boxes_by_rank(here); });
  const auto parts = exchange.made_by([&] { return levels->look(boxes); });
  std::vector<CoveredPart> out;
  const int64_t expected = mesh.cells[0] * mesh.cells[1] * mesh.cells[2];
  comm::together(ranks, [&] {
    if (!mesh.is_partial && cells != expected && levels->hole())
      base::fail(ErrorCode::Sharing,
                 "the boxes of field '{}' cover {} of the {} cells of mesh '{}'; box {} is in none "
                 "of them",
                 field, cells, expected, mesh.name, model::to_string(*levels->hole(), mesh.axes));
    for (const auto& [rank, bytes] : parts)
      for (base::ByteReader in(bytes); !in.done();) {
        const auto part = in.get<SentPart>();
        out.push_back({static_cast<size_t>(part.index), part.cells});
      }
  });
  return out;
}

}  // namespace pillion::redistribution

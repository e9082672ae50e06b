// SPDX-License-Identifier: BSD-3-Clause
// The order of entries is the same on all peers, so a bit means the same entry on each.
#include "stagehost/coverage.hpp"

#include <pillion/stage.h>

#include <algorithm>
#include <bit>
#include <map>

#include "comm/agreement.hpp"
#include "layout/division.hpp"
#include "model/coarsen.hpp"
#include "stagehost/plans.hpp"

namespace pillion::stagehost {

using model::Block;
using model::Box;
using redistribution::MeshBox;

namespace {

// Some meshes, whole and coarse, and of each a few ways in which it is cut.
constexpr size_t most_kept = 16;
static_assert(most_kept <= comm::Fence::most_common);

std::vector<MeshBox> boxes_of(const std::vector<Block>& blocks) {
  std::vector<MeshBox> boxes;
  boxes.reserve(blocks.size());
  for (const auto& block : blocks)
    boxes.push_back({block.level, block.number(), block.box, redistribution::sharer_of(block.id)});
  return boxes;
}

void flag(const Box& box, const Box& cells, std::byte* flags) {
  const int64_t row = cells.extent(0);
  for (int64_t k = cells.lo[2]; k < cells.hi[2]; ++k)
    for (int64_t j = cells.lo[1]; j < cells.hi[1]; ++j) {
      const int64_t at = ((k - box.lo[2]) * box.extent(1) + j - box.lo[1]) * box.extent(0) +
                         cells.lo[0] - box.lo[0];
      std::fill_n(flags + at, row, std::byte{PILLION_CELL_REFINED});
    }
}

std::vector<Flags> flags_of(const std::vector<MeshBox>& here,
                            const std::vector<redistribution::CoveredPart>& parts) {
  std::vector<std::shared_ptr<base::Bytes>> made(here.size());
  for (const auto& [of, cells] : parts) {
    auto& bytes = made.at(of);
    const Box& box = here[of].box;
    if (!bytes) bytes = std::make_shared<base::Bytes>(static_cast<size_t>(box.volume()));
    flag(box, cells, bytes->data());
  }
  return {made.begin(), made.end()};
}

}  // namespace

const std::vector<Flags>& Coverage::of(const std::vector<Block>& blocks, const model::Mesh& mesh,
                                       const std::string& field, const ExecutionContext& context) {
  auto here = boxes_of(blocks);
  uint32_t bits = 0;
  for (size_t e = 0; e < kept_.size(); ++e) {
    const Entry& entry = *kept_[e];
    if (entry.mesh == mesh.name && entry.cells == mesh.cells && entry.ratios == mesh.ratios &&
        entry.here == here)
      bits |= 1u << e;
  }
  const uint32_t common = context.fence->common_before_collective(bits);
  if (common != 0) {
    const auto at = kept_.begin() + std::countr_zero(common);
    std::rotate(at, at + 1, kept_.end());
    return kept_.back()->flags;
  }
  const auto parts = redistribution::find_covered(*context.peers, here, mesh, field);
  std::unique_ptr<Entry> made;
  comm::together(*context.peers, [&] {
    auto flags = flags_of(here, parts);
    made = std::make_unique<Entry>(
        Entry{mesh.name, mesh.cells, mesh.ratios, std::move(here), std::move(flags)});
    kept_.reserve(most_kept + 1);
  });
  // Of a mesh that changes at every step only the last few cuts are worth keeping.
  constexpr size_t most_of_mesh = 4;
  const auto of_same = [&](const auto& entry) { return entry->mesh == mesh.name; };
  if (std::count_if(kept_.begin(), kept_.end(), of_same) == most_of_mesh)
    kept_.erase(std::find_if(kept_.begin(), kept_.end(), of_same));
  if (kept_.size() == most_kept) kept_.erase(kept_.begin());
  return kept_.emplace_back(std::move(made))->flags;
}

namespace {

std::vector<Block> blocks_with(const layout::Received* all, const std::string& field) {
  std::vector<Block> out;
  if (all == nullptr) return out;
  for (const auto& block : all->blocks)
    if (block.arrays.contains(field))
      out.push_back({block.id, block.box, block.owned, {}, block.level});
  return out;
}

/// Fields whose values have come in the layout that stages ask for, all of them or not.
void check_arrived(const layout::InLayout& arrived, const std::string& mesh,
                   const std::vector<std::string>& fields) {
  for (const auto& field : fields)
    if (const auto came = arrived.came.find(field); came != arrived.came.end())
      layout::check_coverage(field, mesh, arrived.cells, came->second);
}

void check_mesh(const model::Mesh& mesh, const layout::Received* all,
                const std::vector<std::string>& fields, const ExecutionContext& context) {
  // The same on every peer, see Taker.
  if (all != nullptr && all->in_layout && layout::is_division(all->in_layout->request.kind))
    return check_arrived(*all->in_layout, mesh.name, fields);
  const auto first = blocks_with(all, fields.front());
  std::vector<size_t> others;  // fields that are cut differently
  for (size_t f = 1; f < fields.size(); ++f) {
    const auto blocks = blocks_with(all, fields[f]);
    const bool differs = !std::equal(
        blocks.begin(), blocks.end(), first.begin(), first.end(),
        [](const Block& a, const Block& b) { return a.level == b.level && a.box == b.box; });
    if (differs) others.push_back(f);
  }
  (void)context.plans->coverage().of(first, mesh, fields.front(), context);
  if (!context.fence->any_before_collective(!others.empty())) return;
  for (size_t f = 1; f < fields.size(); ++f)
    (void)context.plans->coverage().of(blocks_with(all, fields[f]), mesh, fields[f], context);
}

}  // namespace

void check_coverage(const Publication& publication, const std::set<std::string>& fields,
                    const ExecutionContext& context) {
  std::map<std::string, std::vector<std::string>> by_mesh;
  for (const auto& field : fields) by_mesh[context.catalogue->field(field).mesh].push_back(field);
  for (const auto& [name, of_mesh] : by_mesh) {
    const auto& mesh = context.catalogue->mesh(name);
    if (!model::has_boxes(mesh.kind)) continue;
    const auto at = publication.meshes.find(name);
    check_mesh(model::coarse_mesh(mesh, publication.coarsening),
               at == publication.meshes.end() ? nullptr : &at->second, of_mesh, context);
  }
}

}  // namespace pillion::stagehost

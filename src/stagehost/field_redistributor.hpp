// SPDX-License-Identifier: BSD-3-Clause
// Brings the fields of one input of a stage to a division of their mesh, publication after
// publication. The memory is kept, and plans until what ranks have has changed. Fields that lie in
// the same blocks travel together. Constant fields stay where they are while no rank has others.
#pragma once

#include <vector>

#include "base/scratch_buffer.hpp"
#include "stagehost/plans.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

class FieldRedistributor {
 public:
  /// Brings the fields of a request, which is the same every time. `mine` is what this rank has of
  /// their mesh, in a publication of that coarsening. [collective over the peers]
  void carry(const layout::Request& request, const model::MeshBlocks& mine, int coarsening,
             const ExecutionContext& context);

  /// What has been brought: blocks that are not empty, good until the next time.
  [[nodiscard]] const std::vector<model::Block>& blocks() const { return blocks_; }
  /// The same blocks without ghost cells.
  [[nodiscard]] const std::vector<model::Box>& inner() const { return inner_; }

 private:
  /// By block: its id and the version of its values.
  using Versions = std::vector<std::pair<int64_t, int64_t>>;
  /// A field on its way.
  struct FieldTransfer {
    const model::Field* field;
    std::vector<model::Box> here;  ///< boxes of this rank in which it lies
    redistribution::FieldArrays carried;
    Versions versions{};
    bool is_there = false;
  };
  /// What is in the memory of a field since an earlier publication.
  struct Carried {
    int64_t plan = 0;
    bool in_parts = false;
    Versions versions{};
    const std::byte* at = nullptr;
    bool operator==(const Carried&) const = default;
  };
  static FieldTransfer transfer(const model::Field& field, const model::MeshBlocks& mine);
  /// Moves the fields that have not been moved, as far as they lie in the boxes of one plan.
  void redistribute_some(const Division& division, const model::Mesh& mesh, bool in_parts,
                         const ExecutionContext& context);
  /// Whether the memory of every constant field still has all of its values.
  [[nodiscard]] bool has_all() const;
  void place(const std::vector<layout::Place>& places, const layout::Wanted& wanted);
  /// The same for boxes in parts; parts that are here stay where they are.
  void place_parts(const Plan& plan);
  void allocate_parts(const Plan& plan, base::ScratchBuffer& room, FieldTransfer& transfer);
  /// Memory for all travellers, so that none has to be found in the middle of a message.
  void reserve(int64_t cells);
  /// Of all that has yet to travel.
  [[nodiscard]] size_t bytes_per_cell() const;
  void allocate(const std::vector<model::Box>& boxes, base::ScratchBuffer& room,
                FieldTransfer& transfer);

  std::vector<FieldTransfer> transfers_;
  std::vector<base::ScratchBuffer> buffers_;  ///< by field
  std::vector<Carried> carried_;              ///< the same: what is there
  Owners owners_;                             ///< of what is being carried: the same for all fields
  std::vector<model::Block> blocks_;
  std::vector<model::Box> inner_;
};

}  // namespace pillion::stagehost

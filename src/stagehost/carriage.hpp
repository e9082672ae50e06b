// SPDX-License-Identifier: BSD-3-Clause
// Brings the fields of one input of a stage to a division of their mesh, publication after
// publication. The memory is kept, and the plan until what ranks share has changed.
#pragma once

#include <memory>
#include <vector>

#include "stagehost/circumstances.hpp"
#include "stagehost/plans.hpp"

namespace pillion::stagehost {

class Carriage {
 public:
  /// Brings the fields of a request, which is the same every time. `mine` is what this rank has of
  /// their mesh, in a publication of that coarsening. [collective over the peers]
  void carry(const layout::Request& request, const model::MeshBlocks& mine, int coarsening,
             const Circumstances& circumstances);

  /// What has been brought: blocks that are not empty, good until the next time.
  [[nodiscard]] const std::vector<model::Block>& blocks() const { return blocks_; }
  /// The same blocks without ghost cells.
  [[nodiscard]] const std::vector<model::Box>& inner() const { return inner_; }

 private:
  /// Memory of one field, not cleared, which only grows.
  struct Room {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };
  using Fields = std::vector<redistribution::Carried>;
  /// Blocks of the boxes of a plan, with memory for the fields, which learn where they go.
  void make_room(const Plan& plan, const layout::Request& request,
                 const model::Catalogue& catalogue, Fields& fields);
  void make_room(const model::Field& field, const std::vector<model::Box>& boxes, Room& room,
                 redistribution::Carried& carried);

  std::vector<Room> rooms_;  ///< by field
  std::vector<model::Block> blocks_;
  std::vector<model::Box> inner_;
};

}  // namespace pillion::stagehost

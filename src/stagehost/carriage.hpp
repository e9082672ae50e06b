// SPDX-License-Identifier: BSD-3-Clause
// Brings the fields of one input of a stage to a division of their mesh, publication after
// publication. The plan and the memory are kept until what ranks share, or the mesh, has changed.
#pragma once

#include <memory>
#include <vector>

#include "layout/division.hpp"
#include "redistribution/redistribution.hpp"
#include "stagehost/circumstances.hpp"

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
  /// How often there was something to plan.
  [[nodiscard]] int64_t plans() const { return plans_; }

 private:
  using Fields = std::vector<redistribution::Carried>;
  void plan(const layout::Request& request, const model::Mesh& mesh, std::vector<model::Box> here,
            const Circumstances& circumstances);
  void check_coverage(const model::Mesh& mesh) const;
  void make_room(const layout::Request& request, const layout::Wanted& wanted,
                 const model::Catalogue& catalogue);
  void make_room(const model::Field& field, size_t number);

  /// Memory of one field, not cleared, which only grows.
  struct Room {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };

  const comm::Communicator* peers_ = nullptr;
  std::array<int64_t, 3> cells_{};
  std::array<bool, 3> periodic_{};
  std::unique_ptr<redistribution::Redistribution> plan_;
  int64_t plans_ = 0;
  std::vector<Room> rooms_;                          ///< by field
  std::vector<std::vector<layout::Target>> places_;  ///< by field and box
  std::vector<model::Block> blocks_;
  std::vector<model::Box> inner_;
};

}  // namespace pillion::stagehost

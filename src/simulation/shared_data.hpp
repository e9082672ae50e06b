// SPDX-License-Identifier: BSD-3-Clause
// What the program shares, the memory that the session gives it for that, and whether all ranks
// together share what analyses need.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "comm/communicator.hpp"
#include "simulation/allocations.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

class SharedData {
 public:
  /// `rank` is that of this one in the simulation. `sender` and `segment` are null without
  /// sidecars, and without node memory.
  SharedData(const model::Catalogue& catalogue, int rank, transport::Sender* sender,
             node::Segment* segment)
      : catalogue_(catalogue), sender_(sender), sharing_(catalogue, rank), allocations_(segment) {}

  [[nodiscard]] const model::Catalogue& catalogue() const { return catalogue_; }
  [[nodiscard]] Sharing& sharing() { return sharing_; }
  [[nodiscard]] const Sharing& sharing() const { return sharing_; }
  [[nodiscard]] Allocations& allocations() { return allocations_; }

  /// Memory for a block, and the next of its buffers; see Allocations.
  void* allocate(const std::string& field, int32_t block, size_t size, int32_t buffers);
  void* swap(const std::string& field, int32_t block);
  void unshare(const std::string& field, int32_t block);
  /// The same for all blocks that were not shared since begin_blocks().
  void end_blocks(const std::string& field);
  /// Checks that what all ranks share together is all that `fields` needs. Throws the same
  /// error on every rank. [collective]
  void check(const std::set<std::string>& fields, const comm::Communicator& simulation) const;
  [[nodiscard]] std::shared_ptr<const void> keep(const void* data) const {
    return allocations_.keep(data);
  }

 private:
  void check_coordinates(const std::set<std::string>& meshes,
                         const comm::Communicator& simulation) const;
  void check_coverage(const std::set<std::string>& fields,
                      const comm::Communicator& simulation) const;

  const model::Catalogue& catalogue_;
  transport::Sender* sender_;
  Sharing sharing_;
  Allocations allocations_;
};

}  // namespace pillion::simulation

// SPDX-License-Identifier: BSD-3-Clause
// What the program shares, the memory that the session gives it for that, and whether all ranks
// together share what analyses need.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "simulation/allocations.hpp"
#include "simulation/constant_fields.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

class SharedData {
 public:
  /// `rank` is that of this one in the simulation. `sender` and `segment` are null without
  /// sidecars, and without node memory.
  SharedData(const model::Catalogue& catalogue, int rank, transport::Sender* sender,
             node::Segment* segment)
      : catalogue_(catalogue),
        sender_(sender),
        sharing_(catalogue, rank),
        allocations_(segment, sender),
        constants_(catalogue, sharing_, allocations_) {}

  [[nodiscard]] const model::Catalogue& catalogue() const { return catalogue_; }
  [[nodiscard]] Sharing& sharing() { return sharing_; }
  [[nodiscard]] const Sharing& sharing() const { return sharing_; }
  [[nodiscard]] Allocations& allocations() { return allocations_; }
  [[nodiscard]] ConstantFields& constants() { return constants_; }

  /// Memory for a block, and the next of its buffers; see Allocations.
  void* allocate(const std::string& field, int32_t block, size_t size, int32_t buffers);
  void* swap(const std::string& field, int32_t block);
  /// Copies points or cells of a block of a mesh, into memory that sidecars see if there is any.
  void share_points(const std::string& mesh, int32_t block, const pillion_points& points);
  void share_cells(const std::string& mesh, int32_t block, const pillion_cells& cells);
  /// Of a field, or of the points and cells of a mesh; so are the next two.
  void unshare(const std::string& name, int32_t block);
  void begin_blocks(const std::string& name);
  /// The same for all blocks that were not shared since begin_blocks().
  void end_blocks(const std::string& name);
  /// Checks that what all ranks share together is all that `fields` needs. Throws the same
  /// error on every rank. [collective]
  void check(const std::set<std::string>& fields, const comm::Communicator& simulation) const;
  [[nodiscard]] std::shared_ptr<const void> keep(const void* data) const {
    return allocations_.keep(data);
  }

 private:
  /// The field, or the fields that hold the geometry of the mesh of that name.
  [[nodiscard]] std::vector<std::string> fields_called(const std::string& name) const;
  void keep_geometry(const model::Mesh& mesh, const char* part, const std::string& field,
                     int32_t block, std::span<const std::byte> bytes, model::Array array);
  void check_coordinates(const std::set<std::string>& meshes,
                         const comm::Communicator& simulation) const;
  void check_volumes(const stagehost::Publication& publication) const;
  void check_copies(const std::set<std::string>& fields,
                    const comm::Communicator& simulation) const;
  void check_coverage(const std::set<std::string>& fields,
                      const comm::Communicator& simulation) const;

  const model::Catalogue& catalogue_;
  transport::Sender* sender_;
  Sharing sharing_;
  Allocations allocations_;
  ConstantFields constants_;
};

}  // namespace pillion::simulation

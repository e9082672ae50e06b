// SPDX-License-Identifier: BSD-3-Clause
// Particles on the side that sends them: what each rank gets, and the messages. Nothing here is
// collective. A message holds the numbers of owned and copied particles. Then, for each group of
// fields that are packed together, one record for each owned particle, and one for each copy.
#pragma once

#include <pillion/types.h>

#include <optional>
#include <span>
#include <type_traits>

#include "layout/assignment.hpp"
#include "layout/cell.hpp"
#include "layout/request.hpp"
#include "model/block.hpp"

namespace pillion::layout {

/// A field of a block; throws if it is not there.
const model::Array& array_of(const model::Block& block, const std::string& field);

/// The fields of a request by how they are packed. By key: the keys, then all other fields
/// together, because the receiver reads the records in the order of the keys. By place: each alone.
std::vector<std::vector<std::string>> field_groups(const Request& request);

/// How many particles are copied field by field at a time, so that their records stay in the
/// nearest cache meanwhile.
constexpr size_t particle_tile = 128;

/// Calls deed(size), where the usual sizes of values are constants.
template <class Deed>
void with_size(size_t size, Deed&& deed) {
  switch (size) {
    case 1: return deed(std::integral_constant<size_t, 1>());
    case 2: return deed(std::integral_constant<size_t, 2>());
    case 4: return deed(std::integral_constant<size_t, 4>());
    case 8: return deed(std::integral_constant<size_t, 8>());
    case 12: return deed(std::integral_constant<size_t, 12>());
    case 16: return deed(std::integral_constant<size_t, 16>());
    case 24: return deed(std::integral_constant<size_t, 24>());
    default: return deed(size);
  }
}

class ParticleMoves {
 public:
  /// To `ranks` ranks by the key of each particle. The values of `mine` must stay.
  static ParticleMoves by_key(const model::MeshBlocks& mine, const Request& request, int ranks);

  /// To `ranks` ranks by place: a regular division of the domain, each part grown by request.halo.
  /// A particle within the halo of several parts, or of a periodic image of one, goes to each,
  /// displaced; positions are wrapped into the domain. The values of `mine` must stay.
  static ParticleMoves spatial(const model::MeshBlocks& mine, const Request& request,
                               const pillion_domain& domain, int ranks);

  /// Ranks that get anything, ascending.
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  /// Bytes of the message to a rank; 0 if it gets nothing.
  [[nodiscard]] size_t size_for(int rank) const;
  /// Writes all messages, in one pass over the particles. `to` has room for one message for each of
  /// ranks(). Never fails.
  void pack(std::span<std::byte* const> to) const;

 private:
  /// Values of one block that lie together.
  struct Column {
    const std::byte* data;
    int64_t step;   ///< bytes from particle to particle
    size_t size;    ///< bytes
    size_t offset;  ///< in the record
  };
  /// Fields that are packed together.
  struct Group {
    std::vector<std::vector<Column>> columns;  ///< by block
    size_t record = 0;                         ///< bytes of one particle
    bool is_position = false;

    void add(const model::MeshBlocks& mine, const std::string& field);
    [[nodiscard]] bool is_one_array(size_t block) const {
      const auto& all = columns[block];
      return all.size() == 1 && all[0].step == static_cast<int64_t>(record);
    }
  };

  ParticleMoves(const model::MeshBlocks& mine, const Request& request, Assignment assignment);
  void pack(const Group& group, std::byte** owned, std::byte** copies) const;
  void displace(std::byte* position, size_t size, const Edges& edges) const;

  Assignment assignment_;
  std::vector<int64_t> particles_;  ///< by block
  std::vector<Group> groups_;
  size_t record_ = 0;  ///< bytes of one particle in all groups
  std::vector<int> ranks_;
  std::vector<size_t> receivers_;  ///< the number of each of those ranks
  std::optional<Cell> cell_;
};

}  // namespace pillion::layout

// SPDX-License-Identifier: BSD-3-Clause
// Particles on the move, on the side that sends them: what each rank gets, and its message. Nothing
// here is collective. A message holds the numbers of owned and copied particles and then, field by
// field, the values of the owned ones followed by those of the copies.
#pragma once

#include <pillion/types.h>

#include <optional>

#include "layout/cell.hpp"
#include "layout/particle_column.hpp"
#include "layout/request.hpp"

namespace pillion::layout {

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
  /// Writes the message to a rank; there is room for size_for(rank) bytes. Never fails.
  void pack(int rank, std::byte* to) const;

 private:
  /// A field, block by block.
  struct Field {
    std::vector<ParticleColumn> columns;
    size_t record = 0;  ///< bytes of one particle
    bool is_position = false;
  };

  ParticleMoves(const model::MeshBlocks& mine, const Request& request, std::vector<Share> shares);
  static Field field_of(const model::MeshBlocks& mine, const std::string& name);
  [[nodiscard]] const Share* find(int rank) const;
  void displace(const ParticleList& list, size_t record, std::byte* positions) const;

  std::vector<Field> fields_;
  std::vector<Share> shares_;
  std::vector<int> ranks_;
  std::optional<Cell> cell_;
  size_t record_ = 0;  ///< bytes of one particle, all fields together
};

}  // namespace pillion::layout

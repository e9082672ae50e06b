// SPDX-License-Identifier: BSD-3-Clause
// Particles on the side that sends them: what each rank gets, and its message. Nothing here is
// collective. A message holds the numbers of owned and copied particles and then, field by field,
// the values of the owned ones followed by those of the copies.
#pragma once

#include <pillion/types.h>

#include <optional>
#include <span>

#include "layout/assignment.hpp"
#include "layout/cell.hpp"
#include "layout/request.hpp"
#include "model/block.hpp"

namespace pillion::layout {

/// A field of a block; throws if it is not there.
const model::Array& array_of(const model::Block& block, const std::string& field);

/// Values of one block, in bytes.
class ParticleColumn {
 public:
  /// None.
  ParticleColumn() = default;
  explicit ParticleColumn(const model::Array& array);

  /// Bytes of one particle.
  [[nodiscard]] size_t record() const { return record_; }
  /// Appends the values of some runs, counted from particle `begin` on; returns where they end.
  std::byte* pack(int64_t begin, std::span<const ParticleRun> runs, std::byte* to) const;

 private:
  template <class Size>
  std::byte* pack_records(const std::byte* from, std::span<const ParticleRun> runs, Size size,
                          std::byte* to) const;
  template <class Size>
  std::byte* pack_components(const std::byte* from, std::span<const ParticleRun> runs, Size size,
                             std::byte* to) const;

  const std::byte* data_ = nullptr;
  size_t element_ = 0, components_ = 0, record_ = 0;
  int64_t step_ = 0, component_step_ = 0;
};

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

  ParticleMoves(const model::MeshBlocks& mine, const Request& request, std::vector<SendList> lists);
  static Field field_of(const model::MeshBlocks& mine, const std::string& name);
  [[nodiscard]] const SendList* find(int rank) const;
  void displace(const ParticleList& list, size_t record, std::byte* positions) const;

  std::vector<Field> fields_;
  std::vector<SendList> lists_;
  std::vector<int> ranks_;
  std::optional<Cell> cell_;
  size_t record_ = 0;  ///< bytes of one particle, all fields together
};

}  // namespace pillion::layout

// SPDX-License-Identifier: BSD-3-Clause
// Carries particles from the ranks that have them to the ranks that get them, publication after
// publication: one message from each rank to each that gets anything of it.
#pragma once

#include <optional>

#include "comm/sparse.hpp"
#include "layout/particles.hpp"
#include "redistribution/plan.hpp"

namespace pillion::redistribution {

/// Memory is kept from one time to the next.
class ParticleExchange {
 public:
  /// Tells all ranks what they are going to get, and makes room for it. Room may be lacking on one
  /// rank alone, so ranks agree that all have it before they carry. The communicator and the moves
  /// must stay until then. [collective]
  void plan(const comm::Communicator& ranks, const layout::ParticleMoves& moves);
  /// Carries what was planned; what comes is good until the next plan. [collective]
  model::MeshBlocks carry(const layout::Request& request, const model::Catalogue& catalogue);

  /// Bytes that this rank sends to others and gets from others, as planned.
  [[nodiscard]] size_t bytes_sent() const;
  [[nodiscard]] size_t bytes_received() const;
  [[nodiscard]] size_t messages_sent() const { return sent_.size(); }

 private:
  /// A message, and where it is in memory.
  struct Transfer {
    int rank;
    size_t size;
    std::byte* at = nullptr;
  };
  [[nodiscard]] std::vector<std::span<const std::byte>> received() const;

  const comm::Communicator* ranks_ = nullptr;
  const layout::ParticleMoves* moves_ = nullptr;
  std::optional<comm::SparseExchange> sizes_;
  std::vector<Transfer> sent_, received_;
  std::optional<Transfer> kept_;  ///< for this rank itself
  base::ScratchBuffer sending_, receiving_, keeping_;
  layout::UnpackingRoom unpacking_;
};

}  // namespace pillion::redistribution

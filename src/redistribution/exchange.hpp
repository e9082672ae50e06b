// SPDX-License-Identifier: BSD-3-Clause
// Redistribution among ranks that all take part. Fields of a mesh go from the boxes that ranks have
// to boxes that they want: planned once, exchanged as often as the boxes stay the same, with one
// message for each pair of ranks. Particles are planned again in each publication.
#pragma once

#include <optional>
#include <span>

#include "base/scratch_buffer.hpp"
#include "comm/message.hpp"
#include "layout/particles.hpp"
#include "redistribution/message_layout.hpp"
#include "redistribution/node_path.hpp"
#include "redistribution/plan.hpp"

namespace pillion::redistribution {

/// What a box wanted here is made of.
struct WantedPart {
  int32_t box = 0;  ///< number of the box
  layout::Box region;
  int32_t from = -1;  ///< which of the boxes here it lies in; -1 if it comes from another rank
};

class Redistribution {
 public:
  /// Rank r of the tiling is rank owners[r] of the communicator, which must stay. No box may
  /// overlap another. Plans of the same ranks may share `memory`, which stays and has neighbours on
  /// all ranks or none; else a plan has its own, and sends messages alone. [collective]
  Redistribution(const comm::Communicator& ranks, std::vector<layout::Box> here,
                 const layout::Wanted& wanted, const std::vector<int>& owners,
                 TransferMemory* memory = nullptr);
  /// To boxes, where each rank knows only its own. [collective]
  Redistribution(const comm::Communicator& ranks, std::vector<layout::Box> here,
                 const WantedBoxes& wanted, TransferMemory* memory = nullptr);

  /// What this rank gets, ghost cells included.
  [[nodiscard]] const std::vector<layout::Box>& boxes() const { return boxes_; }
  /// What this rank has.
  [[nodiscard]] const std::vector<layout::Box>& here() const { return here_; }
  /// Cells that this rank sends to others, gets from others, and keeps.
  [[nodiscard]] int64_t cells_sent() const;
  [[nodiscard]] int64_t cells_received() const;
  [[nodiscard]] int64_t cells_kept() const { return kept_.cells; }
  [[nodiscard]] size_t messages_sent() const { return sent_.size(); }
  /// What comes from others, then what stays where it is. Not if ghost cells are wanted, which may
  /// be images of cells elsewhere.
  [[nodiscard]] const std::vector<WantedPart>& parts() const { return parts_; }

  /// Finds memory for messages with `per_cell` bytes for each cell; then exchange() needs no more.
  void reserve(size_t per_cell);

  /// Moves fields; all ranks give the same ones in the same order. [collective]
  void exchange(std::span<const FieldArrays> fields) { exchange(fields, received_, kept_); }
  /// The same, where `to` is by those of the parts that come from others, and nothing else is
  /// moved. [collective]
  void exchange_parts(std::span<const FieldArrays> fields) {
    exchange(fields, received_parts_, {});
  }

 private:
  /// What comes from a neighbour, and how far it has been unpacked.
  struct Coming {
    int place;
    const layout::Moves* moves;
    size_t next = 0;
    const std::byte* at = nullptr;  ///< not known until something is there
  };
  void exchange(std::span<const FieldArrays> fields, const std::vector<layout::Moves>& received,
                const layout::Moves& kept);
  /// Takes over what `plan` says, which may fail on some ranks only, and tells receivers.
  /// [collective]
  void exchange_plan(TransferMemory* memory, comm::Work<std::vector<layout::Moves>> plan);
  void list_parts();
  void list_path_sizes(size_t per_cell);
  /// Finds node memory for fields of `per_cell` bytes per cell, and divides it.
  void prepare_path(size_t per_cell);
  /// Its rank on the node, if values go to it through the node's memory.
  [[nodiscard]] std::optional<int> place_of(const layout::Moves& moves) const;
  /// Of the values of a plan that do not go through the node's memory.
  [[nodiscard]] size_t bytes_in_messages(const std::vector<layout::Moves>& all,
                                         size_t per_cell) const;
  void hand_over(int place, const layout::Moves& moves, std::span<const FieldArrays> fields) const;
  /// Unpacks what is there; whether anything was.
  bool take(Coming& coming, std::span<const FieldArrays> fields) const;

  const comm::Communicator& ranks_;
  std::unique_ptr<TransferMemory> own_memory_;  ///< of a plan that shares none
  TransferMemory* memory_ = nullptr;
  std::shared_ptr<TransferMemory::Need> need_;
  std::vector<layout::Box> here_, boxes_;
  std::vector<layout::Moves> sent_, received_;  ///< `rank` is that of the communicator
  layout::Moves kept_;
  std::vector<layout::Moves> received_parts_;  ///< the same, `to` being a part
  std::vector<WantedPart> parts_;
  bool has_path_ = false;     ///< node memory has room for the plan
  NodePath* path_ = nullptr;  ///< in the exchange at work
  size_t path_per_cell_ = 0;  ///< bytes for which node memory was asked for
  // Of the exchange at work, with memory that was reserved before ranks agreed on it.
  NodePath::Sizes path_sizes_;  ///< for values of `listed_for_` bytes
  size_t listed_for_ = 0;
  std::vector<std::pair<const layout::Moves*, std::byte*>> posted_;
  std::vector<comm::Request> coming_, going_;
  std::vector<Coming> handed_;
};

/// One message from each rank to each that gets anything of it. Memory is kept from one time to the
/// next.
class ParticleExchange {
 public:
  /// Tells all ranks what they are going to get, and makes room for it. Room may be lacking on one
  /// rank alone, so ranks agree that all have it before they exchange. The communicator and the
  /// moves must stay until then. [collective]
  void plan(const comm::Communicator& ranks, const layout::ParticleMoves& moves);
  /// Moves what was planned; what comes is good until the next plan. [collective]
  model::MeshBlocks exchange(const layout::Request& request, const model::Catalogue& catalogue);

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

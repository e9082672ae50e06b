// SPDX-License-Identifier: BSD-3-Clause
// The side of a publication that sends: who gets what of this rank's blocks, the layout of the
// message to each, and packing into memory that the caller has found. Receivers need nothing but
// the messages, and no rank waits for another.
#pragma once

#include <pillion/types.h>

#include <memory>

#include "base/bytes.hpp"
#include "layout/division.hpp"
#include "layout/request.hpp"
#include "redistribution/kept_arrays.hpp"
#include "redistribution/message_part.hpp"

namespace pillion::redistribution {

using layout::Routes;

struct FieldType;

/// By receiver.
using SentByReceiver = std::map<int, SentArrays>;

/// How receivers want a publication.
struct Destination {
  int receivers = 0;
  int primary = 0;  ///< the receiver of this rank's headers
  const model::Catalogue* catalogue = nullptr;
  const Routes* routes = nullptr;
  const MeshCuts* cuts = nullptr;
  const std::map<std::string, pillion_domain>* domains = nullptr;
  const SentByReceiver* sent = nullptr;  ///< null: receivers keep nothing
};

class SendPlan {
 public:
  /// Takes out of `meshes` what does not go to the primary sidecar, in a publication of that
  /// coarsening. Never fails for what is shared: what cannot go to its receivers stays, and they
  /// redistribute it.
  SendPlan(Meshes& meshes, int coarsening, const Destination& destination);
  SendPlan(const SendPlan&) = delete;
  SendPlan& operator=(const SendPlan&) = delete;
  ~SendPlan();

  /// The meshes whose blocks are sent. Their arrays may move between two packings.
  [[nodiscard]] Meshes& meshes() { return meshes_; }
  [[nodiscard]] std::vector<int32_t> receivers() const;
  /// Particles stayed in the primary slot that should have gone to their owners.
  [[nodiscard]] bool is_scattered() const { return scattered_; }
  /// Where this rank's boxes are on the curve that receivers cut into their pieces, of the meshes
  /// whose blocks go whole.
  [[nodiscard]] const MeshKeys& keys() const { return keys_; }
  /// Whether the same blocks with other values go the same way.
  [[nodiscard]] bool is_lasting() const;
  /// All that receivers must know beforehand: if it has not changed, neither have the layouts.
  [[nodiscard]] const base::Bytes& schema() const { return schema_; }
  /// Whether receivers are to keep something for later messages, which is then noted in `sent`
  /// once the messages are on their way. The same blocks make another plan after that.
  [[nodiscard]] bool brings_new() const;
  void note_in(SentByReceiver& sent) const;
  /// Bytes of values of one field, without what receivers have.
  [[nodiscard]] const std::map<std::string, int64_t>& bytes_of_fields() const { return bytes_; }
  /// Bytes of values that reach receivers in the layout in which they are wanted.
  [[nodiscard]] int64_t direct_bytes() const { return direct_; }

  /// Decides where messages lie. Nothing is packed, so that size() costs no copy.
  void lay_out(bool with_layouts);
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] const std::vector<MessagePart>& parts() const { return parts_; }
  /// Packs all messages into memory aligned to 64 bytes. Never fails.
  void pack(std::byte* to, int64_t sequence);

 private:
  struct Regions;
  struct Outgoing;
  struct Messages;
  void take_blocks(const std::string& name, model::MeshBlocks& mesh, int coarsening,
                   const Destination& to);
  void take_regions(const std::string& name, int coarsening, const Destination& to);
  void add_regions(const std::string& name, const std::vector<size_t>& blocks, int64_t group,
                   const layout::Moves& moves, const Destination& to);
  bool take_particles(const std::string& name, const Destination& to);
  void add_block(const std::string& name, size_t number, int receiver, const SentByReceiver* sent);
  void count(const FieldType& field, int64_t cells);
  void settle(const Meshes& left, const Destination& to);

  Meshes meshes_;
  std::unique_ptr<Messages> messages_;
  std::map<std::string, int64_t> bytes_;
  std::vector<MessagePart> parts_;
  base::Bytes schema_;
  MeshKeys keys_;
  size_t size_ = 0;
  int64_t direct_ = 0;
  bool scattered_ = false;
  bool with_layouts_ = true;
};

}  // namespace pillion::redistribution

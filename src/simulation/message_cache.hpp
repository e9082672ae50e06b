// SPDX-License-Identifier: BSD-3-Clause
// A publication as it goes to sidecars. Simulations publish the same arrays again and again, with
// other values: so what was made for one publication is kept for the next that is like it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "redistribution/publish.hpp"
#include "run/run_spec.hpp"
#include "simulation/cut_data.hpp"
#include "transport/publication_header.hpp"
#include "transport/transport.hpp"

namespace pillion::model {
struct AnalysisSpec;
}

namespace pillion::simulation {

class Sharing;

class CachedMessage {
 public:
  /// What goes to the primary sidecar with the head, and, over the network, directly to others.
  CachedMessage(const transport::PublicationHeader& head, transport::Meshes meshes,
                const transport::Lender& lender, const transport::SentArrays* sent,
                std::unique_ptr<redistribution::SendPlan> send_plan);
  CachedMessage(const CachedMessage&) = delete;
  CachedMessage& operator=(const CachedMessage&) = delete;

  /// Bytes of values that an analysis asked for; `crossing` are its shared fields.
  void add_share(const model::AnalysisSpec& analysis, const std::set<std::string>& cut_fields);
  /// Notes where `sharing` keeps what is in here. All of it must be shared.
  void link(const Sharing& sharing);
  /// Notes what it was made of before part of it was planned to go directly.
  void note(transport::Meshes meshes);
  /// Takes other values, if they lie in blocks like the noted ones; else nothing happens.
  [[nodiscard]] bool refill(transport::Meshes& meshes);
  /// Lets go of memory that is not the simulation's.
  void release();
  /// Makes it the publication of another step, with what is shared now.
  void renew(const transport::PublicationHeader& head, const transport::Lender& lender);

  [[nodiscard]] const transport::Encoder& encoder() const { return encoder_; }
  /// Null if everything goes to the primary sidecar.
  [[nodiscard]] redistribution::SendPlan* send_plan() const { return send_plan_.get(); }
  /// Bytes of the message and those behind it that go directly.
  [[nodiscard]] size_t size() const;
  void encode(std::byte* to, int64_t sequence, base::Copy how, base::CopyThreads* threads) const;
  /// Bytes of values of an analysis, numbered in the order in which they were added, but for what
  /// the receiver has.
  [[nodiscard]] int64_t share(size_t number) const;
  /// Those of share number `share` that are copied: the others are only pointed to.
  [[nodiscard]] int64_t bytes_copied(size_t share) const;

 private:
  struct Link {
    model::Array* array;
    const model::Array* shared;
  };
  transport::Meshes meshes_;
  transport::Encoder encoder_;
  std::unique_ptr<redistribution::SendPlan> send_plan_;
  std::vector<Link> links_;  ///< of what goes directly
  transport::Meshes noted_;
  std::vector<model::Array*> slots_;  ///< where the arrays of `noted_` are now, in their order
  std::vector<int64_t> shares_;
  std::vector<std::vector<const transport::Encoder::FieldBytes*>> fields_;  ///< of each share
};

/// MessageCache by the analyses that are due and the coarsening, as long as what is shared does not
/// change otherwise than in its values.
class MessageCache {
 public:
  /// Null if there is none.
  CachedMessage* find(const transport::DueSet& due, int64_t version);
  CachedMessage& keep(const transport::DueSet& due, int64_t version,
                      std::unique_ptr<CachedMessage> message);
  void clear() { messages_.clear(); }

 private:
  std::map<transport::DueSet, std::unique_ptr<CachedMessage>> messages_;
  int64_t version_ = -1;  ///< of what was shared when they were made
};

/// Makes the message of a publication. What was made for the last publication like it is used
/// again, with other values in it.
class MessageBuilder {
 public:
  /// Values that `lender` finds need not be copied. Analyses from number `own` on are those of
  /// attached jobs.
  MessageBuilder(const run::Run& run, transport::Sender& sender,
                 const run::LayoutRequests& layout_requests, const run::CutFields& cut_fields,
                 const Sharing& sharing, const transport::Lender& lender, size_t own);

  /// Bytes of a publication for these analyses, but for values that need not be copied. What was
  /// found to need no copy counts as asked for from the lender.
  [[nodiscard]] size_t size_for(const std::vector<size_t>& due) const;
  /// Completes the head. The message is good until the next one is prepared.
  CachedMessage& prepare(transport::PublicationHeader& head, const std::vector<size_t>& due,
                         const StageOutputs& left);
  /// The message was sent: receivers know its schema.
  void sent(const transport::PublicationHeader& head, const CachedMessage& message);
  /// What is shared may lie or be called otherwise now.
  void forget() { messages_.clear(); }

 private:
  [[nodiscard]] int64_t version() const;
  CachedMessage& renewed(CachedMessage& message, transport::PublicationHeader& head) const;
  /// Says in the header whether the message brings arrays to keep.
  CachedMessage& settled(CachedMessage& message, transport::PublicationHeader& head) const;
  /// Takes out of `meshes` what goes straight to the sidecars that work on it; null if nothing can.
  std::unique_ptr<redistribution::SendPlan> plan(const transport::PublicationHeader& head,
                                                 transport::Meshes& meshes) const;
  void declare(transport::PublicationHeader& head, redistribution::SendPlan& send_plan) const;

  const run::Run& run_;
  transport::Sender& sender_;
  const run::LayoutRequests& layout_requests_;
  const run::CutFields& cut_fields_;
  const Sharing& sharing_;
  const transport::Lender& lender_;
  CutData data_;
  MessageCache messages_;
  std::unique_ptr<CachedMessage> only_once_;
  transport::SchemaCache schemas_;
  /// Null where sidecars may change, or read the session's memory.
  std::unique_ptr<transport::SentArrays> sent_arrays_;
  redistribution::SentByReceiver sent_directly_;
  bool is_outdated_ = false;  ///< receivers keep more since what is in `messages_` was made
};

}  // namespace pillion::simulation

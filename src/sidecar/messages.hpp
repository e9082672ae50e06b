// SPDX-License-Identifier: BSD-3-Clause
// The messages of the simulation as all sidecars of a job see them: each rank reads those of its
// own sources, and all agree on what they have.
#pragma once

#include "policy/sidecar_policy.hpp"
#include "run/chains.hpp"
#include "sidecar/leaving.hpp"
#include "transport/network.hpp"
#include "transport/transport.hpp"

namespace pillion::sidecar {

struct Message {
  /// The same on every rank, but for when it was published; meaningless if `all.no_message`.
  transport::PublicationHeader header{};
  policy::MessageStatus all{};
  std::map<int, transport::PublicationHeader> headers{};  ///< as each source of this rank sent it
  std::vector<transport::Delivery> deliveries{};
  std::string failure{};  ///< of a checkpoint or a migration, for the simulation
};

class Messages {
 public:
  /// The policy has its analyses already.
  Messages(const comm::Communicator& side, policy::SidecarPolicy& policy);
  void set_receiver(std::unique_ptr<transport::Receiver> receiver) {
    receiver_ = std::move(receiver);
  }
  /// What stages ask for, where values come directly to the sidecar that works on them.
  void set_layout_requests(run::LayoutRequests requests) { layout_requests_ = std::move(requests); }
  /// Says when a job leaves; null if it never does. It must stay.
  void set_leaving(Leaving* leaving) { leaving_ = leaving; }
  /// The run's number of this job's analysis 0.
  void set_base(int32_t base) { base_ = base; }
  [[nodiscard]] size_t base() const { return static_cast<size_t>(base_); }

  /// Waits for the next message of this rank's sources. Not collective.
  Message read();
  /// Whether this rank finishes that message by itself, which then has a header.
  [[nodiscard]] bool passes(Message& message) const;
  /// Agrees on a message that this rank has read and does not pass. [collective over the sidecars]
  void agree(Message& message);
  /// Everything that has come of a publication. [collective over the sidecars]
  transport::ReceivedMeshes receive(const Message& message, const model::Catalogue& catalogue);
  /// Takes in what has come for later. Waits for nothing.
  void look() { receiver_->look(); }
  [[nodiscard]] std::string take_warning() { return receiver_->take_warning(); }
  /// Reports to the sources of this rank that a message is finished.
  void acknowledge(const Message& message, const std::set<int32_t>& disabled) {
    receiver_->finish(message.header.sequence, disabled, message.failure);
  }
  /// What a header says of each analysis of this job, by the job's own numbers.
  [[nodiscard]] std::vector<std::pair<size_t, transport::Due>> due_in(
      const transport::PublicationHeader& header) const;
  [[nodiscard]] std::vector<size_t> analyses_in(const transport::PublicationHeader& header) const;
  /// The header of messages that this rank may lack. [collective over the sidecars]
  [[nodiscard]] transport::PublicationHeader agree_on_header(
      const std::vector<transport::Delivery>& deliveries) const;

 private:
  void reduce(Message& message, const policy::MessageStatus& mine);

  const comm::Communicator& side_;
  policy::SidecarPolicy& policy_;
  std::unique_ptr<transport::Receiver> receiver_;
  run::LayoutRequests layout_requests_;
  Leaving* leaving_ = nullptr;
  int32_t base_ = 0;
  std::vector<int32_t> marks_;                 ///< what ranks reduce about a message
  std::map<int, transport::KeptArrays> kept_;  ///< by source
};

}  // namespace pillion::sidecar

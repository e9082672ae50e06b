// SPDX-License-Identifier: BSD-3-Clause
// A sidecar rank's part of a run: works on publications in the order in which they come, until the
// simulation ends its session, dies, or somebody asks the sidecars to leave.
#pragma once

#include <functional>
#include <optional>

#include "run/chains.hpp"
#include "run/run_spec.hpp"
#include "transport/network.hpp"
#include "transport/transport.hpp"

namespace pillion::sidecar {

/// How the work of sidecars ended.
enum class Ending {
  Closed,  ///< the simulation has closed its session
  Left,    ///< sidecars were asked to leave
  Alone    ///< the simulation is gone without a word
};

class Sidecar {
 public:
  Sidecar(run::Run& run, run::Chains chains, std::unique_ptr<transport::Receiver> receiver)
      : run_(run), chains_(std::move(chains)), receiver_(std::move(receiver)) {}
  /// What the run calls this side's analysis 0.
  void set_base(int32_t base) { base_ = base; }
  [[nodiscard]] size_t base() const { return static_cast<size_t>(base_); }

  /// The receiver, if messages come directly to this rank; they come as the stages have wished.
  void set_layout_requests(run::LayoutRequests requests) { layout_requests_ = std::move(requests); }

  /// Analyses may come from the simulation and go back there. `produced` is what crosses the cut.
  void set_migratable(run::ProducedFields produced) { produced_ = std::move(produced); }

  /// Called after each publication, before its memory is given back.
  void set_after_publication(std::function<void(const transport::PublicationHeader&)> habit) {
    after_publication_ = std::move(habit);
  }
  /// Called when the simulation has ended its session, before analyses are ended.
  void set_before_end(std::function<void()> before_end) { before_end_ = std::move(before_end); }
  /// Whether this rank was asked to leave.
  void set_call(std::function<bool()> call) { call_ = std::move(call); }

  /// Returns when no message will come any more. [collective over the sidecars]
  Ending serve();
  /// Ends all analyses where there was no word of the end. [collective over the sidecars]
  void finish_alone();
  /// For those who look at progress.
  void tell();
  /// Analyses of this side that are due in a publication.
  [[nodiscard]] std::vector<size_t> due_here(const transport::PublicationHeader& head) const;
  [[nodiscard]] run::Chains& chains() { return chains_; }
  /// What simulation ranks had to say at the end.
  [[nodiscard]] const std::vector<base::Bytes>& statements() const { return statements_; }
  [[nodiscard]] std::string save(const std::string& path, bool durable) const;

 private:
  using Deliveries = std::vector<transport::Delivery>;
  /// What sidecars know together of a message.
  struct Agreed {
    bool over = false;  ///< some rank will have no message
    bool left = false;  ///< because it was asked to leave
    transport::PublicationHeader head{};
    std::map<int, transport::PublicationHeader> heads{};  ///< what each source of this rank said
  };
  Agreed agree(const std::optional<Deliveries>& deliveries) const;
  [[nodiscard]] bool is_mine(const transport::Due& due) const;
  [[nodiscard]] size_t mine(const transport::Due& due) const {
    return static_cast<size_t>(due.analysis - base_);
  }
  void take_units(const transport::PublicationHeader& head);
  void work(const Agreed& agreed, const Deliveries& deliveries);
  /// All that has come of a publication. [collective over the sidecars]
  transport::ReceivedMeshes receive(const Agreed& agreed, const Deliveries& deliveries);
  void work_on(const transport::Due& due, const transport::PublicationHeader& head,
               const transport::ReceivedMeshes& received);
  /// Goes on with an analysis that was in the simulation.
  void take(const transport::PublicationHeader& head);
  /// Leaves one to the simulation; says why if it cannot.
  std::string give(const transport::PublicationHeader& head);
  [[nodiscard]] run::Gaps gaps_of(const transport::Due& due) const;
  void finish(const transport::PublicationHeader& head, const Deliveries& deliveries);
  [[nodiscard]] std::set<int32_t> disabled() const;

  run::Run& run_;
  run::Chains chains_;
  std::unique_ptr<transport::Receiver> receiver_;
  run::LayoutRequests layout_requests_;
  int32_t base_ = 0;
  std::function<void(const transport::PublicationHeader&)> after_publication_;
  std::function<void()> before_end_;
  std::function<bool()> call_;
  std::vector<base::Bytes> statements_;
  std::optional<run::ProducedFields> produced_;  ///< none if no analysis moves
  double busy_ = 0;                              ///< seconds of work on messages
  int64_t publications_ = 0;                     ///< that had something for this side
  transport::PublicationHeader last_;            ///< head of the last publication
};

}  // namespace pillion::sidecar

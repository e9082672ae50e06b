// SPDX-License-Identifier: BSD-3-Clause
// The network transport: sidecar ranks in the same MPI job. For each publication a simulation rank
// sends its header to one sidecar rank, with the blocks that are for that one, and a message to
// every rank that gets something directly, all from a staging buffer that is its own until the one
// that got the header says that it has finished; so no more than the budget is ever under way, in
// MPI's own buffers included. Where MPI lets several threads call it, a thread on each side keeps
// messages moving while the solver and the stages work. Otherwise they move in pillion_step, and
// between analyses.
#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <optional>

#include "comm/message.hpp"
#include "comm/progress_thread.hpp"
#include "node/shared_budget.hpp"
#include "transport/direct_receiver.hpp"
#include "transport/staging.hpp"
#include "transport/transport.hpp"

namespace pillion::transport {

class NetworkSender final : public Sender {
 public:
  /// `wire` holds both sides and stays; `sidecars` are ranks in it, and heads go to number
  /// `primary` of them. `budget` is in bytes; `shared` is what this rank has it from, if its node
  /// shares one.
  NetworkSender(const comm::Communicator& wire, std::vector<int> sidecars, int primary,
                size_t budget, std::unique_ptr<node::SharedBudget> shared = nullptr);
  ~NetworkSender() override;

  std::byte* reserve(size_t size) override;
  std::byte* reserve_head(size_t size) override;
  void commit(int64_t sequence) override { commit(sequence, reserved_size_, {}); }
  void commit(int64_t sequence, size_t size, const std::vector<MessagePart>& parts) override;
  void poll() override;
  void wait(double patience) override;
  [[nodiscard]] bool must_progress() const override { return !thread_.runs() && is_sending_; }
  [[nodiscard]] bool is_awaited() override;
  bool progress(double seconds) override;
  [[nodiscard]] std::string take_warning() override { return thread_.take_failure(); }
  [[nodiscard]] size_t budget() const override { return staging_.budget(); }
  void set_need(size_t bytes) override;
  void take_part() override { follow_budget(true); }
  [[nodiscard]] bool fits(size_t size) const override { return staging_.fits(size); }
  /// A quarter stays for heads that must get through.
  [[nodiscard]] bool fits_head() const override { return heads_ < most_heads * 3 / 4; }
  [[nodiscard]] size_t in_flight() const override { return staging_.in_use(); }
  [[nodiscard]] size_t peak() const override { return peak_; }
  void set_kept(const KeptMemory& kept) override;
  [[nodiscard]] int64_t behind() const override { return static_cast<int64_t>(sent_.size()); }
  [[nodiscard]] const std::set<int32_t>& disabled() const override { return disabled_; }
  [[nodiscard]] std::string failure() const override { return failure_; }

  /// With the cuts as sidecars have balanced them.
  [[nodiscard]] std::optional<Targets> targets(const DueSet& due) const override;
  [[nodiscard]] int64_t targets_version() const override { return cuts_version_; }

 private:
  struct Sent {
    int64_t sequence;
    Buffer buffer;
    bool staged;                                ///< from the budget
    std::vector<Announcement> announcements{};  ///< MPI reads them, so they must not move
    std::vector<comm::Request> requests{};
    bool is_sent = false, is_finished = false;
  };
  /// An answer of the sidecar on its way in.
  struct Answer {
    base::Bytes bytes;
    comm::Request request;
  };
  /// Beside the budget; as many as there are records on a node.
  static constexpr int64_t most_heads = node::record_count;
  void send(Sent& sent, const std::byte* data, size_t size, int to, int tag, int large_tag);
  bool test();
  void drop_reserved();
  void follow_budget(bool exact = false);
  /// Gives messages what is kept beside them leaves of the part.
  void use(size_t part);
  void note_peak() { peak_ = std::max(peak_, staging_.in_use() + kept_.copies()); }
  void read(const Answer& answer);
  void finished(int64_t sequence);
  void take_cuts(base::ByteReader& cuts);
  void give_back();

  const comm::Communicator& wire_;
  std::vector<int> sidecars_;
  int primary_;
  int to_;  ///< rank of the primary sidecar
  std::map<DueSet, MeshCuts> cuts_;
  int64_t cuts_version_ = 0;
  std::unique_ptr<node::SharedBudget> shared_;
  size_t part_;      ///< bytes of the budget for messages and what is kept beside them
  size_t need_ = 0;  ///< bytes of the largest message
  size_t peak_ = 0;
  KeptMemory kept_;
  Staging staging_;
  std::optional<Buffer> reserved_;
  size_t reserved_size_ = 0;
  bool reserved_staged_ = false;
  int64_t heads_ = 0;                                   ///< in `sent_`, beside the budget
  std::map<std::pair<int, int>, ExpectedSizes> sizes_;  ///< by receiver and tag
  std::optional<comm::Arrival> arrived_;                ///< an answer that has not been received
  std::deque<Answer> answers_;
  std::set<int32_t> disabled_;
  std::string failure_;
  std::mutex mutex_;  ///< for sent_ and its requests
  std::deque<Sent> sent_;
  bool is_sending_ = false;      ///< something may not have been taken in yet
  comm::ProgressThread thread_;  ///< the last, so that it ends first
};

class NetworkReceiver final : public Receiver {
 public:
  /// `sources` are ranks in `wire`, those whose heads come here; `side` are the sidecars. What is
  /// received ahead of its time takes no more than `budget` bytes, with what is in work.
  NetworkReceiver(const comm::Communicator& wire, const comm::Communicator& side,
                  std::vector<int> sources, size_t budget);
  ~NetworkReceiver() override;
  std::optional<std::vector<Delivery>> next() override;
  void finish(int64_t sequence, const std::set<int32_t>& disabled,
              const std::string& failure) override;
  void look() override;
  [[nodiscard]] std::string take_warning() override { return thread_.take_failure(); }
  [[nodiscard]] DirectReceiver* direct() override { return &direct_; }
  [[nodiscard]] const ReceiveRoom& room() const { return room_; }
  /// The thread that takes messages in, for tests.
  [[nodiscard]] const comm::ProgressThread& thread() const { return thread_; }

 private:
  /// An answer to all sources, on its way.
  struct Answer {
    std::vector<base::Bytes> bytes;  ///< by source
    std::vector<comm::Request> requests;
  };
  bool answered();
  void take_in();

  const comm::Communicator& wire_;
  std::vector<int> sources_;
  ReceiveRoom room_;
  Inbox heads_;
  DirectReceiver direct_;
  std::list<Answer> answers_;
  comm::ProgressThread thread_;  ///< the last, so that it ends first
};

}  // namespace pillion::transport

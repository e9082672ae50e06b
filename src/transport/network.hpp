// SPDX-License-Identifier: BSD-3-Clause
// The network transport: sidecar ranks in the same MPI job. Each simulation rank sends to one
// sidecar rank, one message per publication, from a staging buffer that is its own until the
// sidecar says that it has finished; so no more than the budget is ever under way, in MPI's own
// buffers included.
#pragma once

#include <deque>
#include <optional>

#include "comm/message.hpp"
#include "transport/staging.hpp"
#include "transport/transport.hpp"

namespace pillion::transport {

/// Which sidecar a simulation rank sends to: neighbours together, numbers balanced.
int sidecar_of(int simulation_rank, int simulation_ranks, int sidecar_ranks);

class NetworkSender final : public Sender {
 public:
  /// `wire` holds both sides; `to` is the sidecar's rank in it. `budget` is in bytes.
  NetworkSender(const comm::Communicator& wire, int to, size_t budget);

  std::byte* reserve(size_t size) override;
  std::byte* reserve_head(size_t size) override;
  void commit(int64_t sequence) override;
  void poll() override;
  void wait(std::chrono::microseconds patience) override;
  [[nodiscard]] bool fits(size_t size) const override { return staging_.fits(size); }
  [[nodiscard]] size_t in_flight() const override { return staging_.in_use(); }
  [[nodiscard]] size_t peak() const override { return staging_.peak(); }
  [[nodiscard]] int64_t behind() const override { return static_cast<int64_t>(sent_.size()); }
  [[nodiscard]] const std::set<int32_t>& disabled() const override { return disabled_; }
  [[nodiscard]] std::string failure() const override { return failure_; }

 private:
  struct Sent {
    int64_t sequence;
    Buffer buffer;
    bool staged;  ///< from the budget
    comm::Request request;
  };
  void finished(int64_t sequence);

  const comm::Communicator& wire_;
  int to_;
  Staging staging_;
  std::optional<Buffer> reserved_;
  size_t reserved_size_ = 0;
  bool reserved_staged_ = false;
  std::deque<Sent> sent_;
  std::set<int32_t> disabled_;
  std::string failure_;
};

class NetworkReceiver final : public Receiver {
 public:
  /// `sources` are ranks in `wire`.
  NetworkReceiver(const comm::Communicator& wire, std::vector<int> sources);
  std::optional<std::vector<Delivery>> next() override;
  void finish(int64_t sequence, const std::set<int32_t>& disabled,
              const std::string& failure) override;

 private:
  std::shared_ptr<Buffer> buffer_for(size_t source, size_t size);
  const comm::Communicator& wire_;
  std::vector<int> sources_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  ///< one per source, used again when free
};

}  // namespace pillion::transport

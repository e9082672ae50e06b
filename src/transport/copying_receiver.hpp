// SPDX-License-Identifier: BSD-3-Clause
// The receiver of an attached job. A thread copies what comes into this process's own memory, and
// gives the run's memory back at once, so that stages may take as long as they like. The simulation
// may still overwrite a message while it is being copied, if this process has been stopped: a copy
// counts only if it is certain that this has not happened. The run sees to it that values which
// wait for stages have room. Heads come with every publication of the run: while waiting heads take
// more than their limit, the thread takes nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>

#include "transport/node.hpp"
#include "transport/publication_header.hpp"
#include "transport/staging.hpp"

namespace pillion::transport {

/// What an attached job works on: analyses, by the run's numbers, and fields.
struct WantedValues {
  int32_t first = 0;
  int32_t count = 0;
  std::set<std::string> fields;
  size_t heads =
      std::numeric_limits<size_t>::max();  ///< bytes of heads that may wait, and one more
};

class CopyingReceiver final : public Receiver {
 public:
  /// `from` has been admitted. `leave` is asked now and then, by any thread.
  CopyingReceiver(std::unique_ptr<NodeReceiver> from, WantedValues wanted,
                  std::function<bool()> leave);
  ~CopyingReceiver() override { stop(); }

  /// Copies. Arrays that are not wanted have no values in them.
  std::optional<std::vector<Delivery>> next() override;
  [[nodiscard]] bool is_evicted() const override;
  [[nodiscard]] bool is_orphaned() override { return orphaned_; }
  void finish(int64_t sequence, const std::set<int32_t>& disabled,
              const std::string& failure) override;
  /// In the message that next() gave last. Null if it is not wanted.
  const std::byte* look(int source, const Lent& lent, size_t bytes) override;

  /// Takes nothing more.
  void stop();

 private:
  using Place = std::tuple<int, uint64_t, uint64_t>;  ///< of a lent array: source, region, offset
  struct Copy {
    std::vector<Delivery> deliveries;
    std::map<Place, std::shared_ptr<Buffer>> lent;
    size_t heads = 0;  ///< bytes of the heads, and of what keeps them
  };
  /// A lent array with a version, for later messages.
  struct Kept {
    int64_t version = 0;
    std::shared_ptr<Buffer> values{};
    int64_t used = 0;  ///< in which message last
  };
  void take() noexcept;
  /// Waits for room for heads; false if this ends.
  bool await_room();
  /// Nothing if what came may have been overwritten meanwhile.
  std::optional<Copy> copy(const std::vector<Delivery>& from);
  [[nodiscard]] bool is_wanted(const PublicationHeader& header) const;
  void copy_values(const Delivery& from, const Delivery& to, Copy& copy);
  /// A copy of a lent array; the one that is kept, if its values are the same.
  std::shared_ptr<Buffer> copy_of(const Place& place, const std::byte* data, size_t bytes,
                                  int64_t version);

  std::unique_ptr<NodeReceiver> from_;
  WantedValues wanted_;
  std::function<bool()> leave_;
  std::map<Place, Kept> kept_;  ///< of the thread alone
  int64_t messages_ = 0;        ///< that it has copied
  Copy current_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Copy> queue_;
  size_t waiting_heads_ = 0;  ///< bytes of heads in the queue
  std::exception_ptr failure_;
  bool ended_ = false;    ///< nothing will come
  bool evicted_ = false;  ///< and that is why
  std::atomic<bool> stopped_ = false, orphaned_ = false;
  std::thread thread_;
};

}  // namespace pillion::transport

// SPDX-License-Identifier: BSD-3-Clause
// How publications reach sidecars, whatever carries them. The network transport is one way; node
// memory is another that will stand beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pillion::transport {

/// The simulation rank's end. Memory for messages comes from a budget; nothing ever waits here.
class Sender {
 public:
  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;

  /// Memory for a message of `size` bytes, or null if the budget has no room for it now.
  virtual std::byte* reserve(size_t size) = 0;
  /// The same beyond the budget, for heads without values.
  virtual std::byte* reserve_head(size_t size) = 0;
  /// Sends what was reserved last, as message number `sequence`.
  virtual void commit(int64_t sequence) = 0;
  /// Takes note of what sidecars have finished.
  virtual void poll() = 0;

  /// Bytes of messages that sidecars have not finished.
  [[nodiscard]] virtual size_t in_flight() const = 0;
  [[nodiscard]] virtual size_t peak() const = 0;
  /// Messages that sidecars have not finished.
  [[nodiscard]] virtual int64_t behind() const = 0;
  /// Analyses that sidecars have disabled, as far as is known here.
  [[nodiscard]] virtual const std::set<int32_t>& disabled() const = 0;
  /// Why the last checkpoint failed in the sidecars; "" if it did not.
  [[nodiscard]] virtual const std::string& failure() const = 0;
};

/// One message as it arrived.
struct Delivery {
  int source = -1;
  const std::byte* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> keep;
};

/// The sidecar rank's end.
class Receiver {
 public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;

  /// The next message of every source, in the order of sources. Waits without burning a core.
  virtual std::vector<Delivery> next() = 0;
  /// Tells the sources that message `sequence` is finished, which analyses are disabled, and how a
  /// checkpoint failed.
  virtual void finish(int64_t sequence, const std::set<int32_t>& disabled,
                      const std::string& failure) = 0;
};

}  // namespace pillion::transport

// SPDX-License-Identifier: BSD-3-Clause
// The step at which a rank is, for a thread that looks now and then. Setting it is a few plain
// stores and waits for nobody; who looks in the middle of that tries again later.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace pillion::run {

class StepPosition {
 public:
  struct Place {
    int64_t step = 0;
    double time = 0;
    bool operator==(const Place&) const = default;
  };

  /// By one thread only.
  void set(int64_t step, double time) {
    const uint64_t turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_relaxed);
    step_.store(step, std::memory_order_release);
    time_.store(time, std::memory_order_release);
    turn_.store(turn + 2, std::memory_order_release);
  }
  /// Nothing before the first step, or if the rank is just setting it.
  [[nodiscard]] std::optional<Place> get() const {
    const uint64_t before = turn_.load(std::memory_order_acquire);
    const Place place{step_.load(std::memory_order_acquire), time_.load(std::memory_order_acquire)};
    const bool whole = before != 0 && before % 2 == 0 && turn_.load() == before;
    return whole ? std::optional(place) : std::nullopt;
  }

  /// Whether the rank waits for others just now.
  void set_waiting(bool waiting) { waiting_.store(waiting, std::memory_order_relaxed); }
  [[nodiscard]] bool is_waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<uint64_t> turn_{0};  ///< odd while it is being set
  std::atomic<int64_t> step_{0};
  std::atomic<double> time_{0};
  std::atomic<bool> waiting_{false};
};

/// Says that a rank waits, for as long as this lives.
class Waiting {
 public:
  explicit Waiting(StepPosition& mark) : mark_(mark) { mark_.set_waiting(true); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { mark_.set_waiting(false); }

 private:
  StepPosition& mark_;
};

}  // namespace pillion::run

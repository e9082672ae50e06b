// SPDX-License-Identifier: BSD-3-Clause
// The slots of attached jobs: free, being admitted, or active. A job is admitted when every rank
// has seen it ready, and released when any rank has seen it leave or die, or has evicted it. What a
// rank sees changes only what it contributes to the next agreement.
#pragma once

#include <array>

#include "policy/events.hpp"

namespace pillion::policy {

class SlotState {
 public:
  enum class Phase { Free, Admitting, Active };

  // Agreed.

  /// Its part of what all ranks said: releases, or begins to admit.
  std::optional<CollectiveAction> settle(int slot, bool ready, bool lost);
  /// Admission has ended; without analyses the job was refused.
  void admitted(size_t first, size_t count);

  // Local.

  void saw_ready() { seen_ = Seen::Ready; }
  void saw_lost(bool evicted) { seen_ = evicted ? Seen::Evicted : Seen::Lost; }
  void saw_free() { seen_ = Seen::Nothing; }
  [[nodiscard]] bool is_ready_here() const { return seen_ == Seen::Ready; }
  [[nodiscard]] bool is_lost_here() const { return seen_ == Seen::Lost || is_evicted_here(); }
  [[nodiscard]] bool is_evicted_here() const { return seen_ == Seen::Evicted; }

  [[nodiscard]] Phase phase() const { return phase_; }
  /// Numbers of its analyses, from `first` to the one before `last`; none unless it is active.
  [[nodiscard]] size_t first() const { return first_; }
  [[nodiscard]] size_t last() const { return last_; }

 private:
  enum class Seen { Nothing, Ready, Lost, Evicted };
  Phase phase_ = Phase::Free;
  size_t first_ = 0, last_ = 0;
  Seen seen_ = Seen::Nothing;
};

/// The first number for `count` analyses of another job: jobs come and go as long as the run lasts,
/// so numbers that are free again are used again. The run's own analyses have the first `own`.
size_t first_free(const std::array<SlotState, attached_slots>& slots, size_t own, size_t count);

}  // namespace pillion::policy

// SPDX-License-Identifier: BSD-3-Clause
// What simulation ranks agree on without waiting for each other: each contributes its status at a
// publication, and where jobs may attach also now and then between; the result is read at the next
// one.
#pragma once

#include <span>

#include "comm/message.hpp"
#include "policy/backlog.hpp"

namespace pillion::simulation {

class Agreement {
 public:
  /// Nothing else is done on the ranks' communicator.
  explicit Agreement(const comm::Communicator& simulation)
      : reduction_(simulation, comm::Operation::Max) {}

  /// Keeps memory for statuses with as many analyses: up to then, start() takes none.
  void reserve(size_t analyses, size_t scalars = 0);

  /// Contributes this rank's status, with one entry for each analysis. `steps` is how many the
  /// program has made. `numbers` are those of its last step, as StepNumbers has them. [collective,
  /// does not wait]
  void start(const policy::RankStatus& mine, size_t analyses, int64_t steps,
             std::span<const double> numbers = {});
  /// What all ranks contributed; nothing if no rank has since it was read. [collective]
  std::optional<policy::RankStatus> settle();
  /// What the ranks gave as `numbers` in the agreement that was read last, reduced by maximum; good
  /// until start().
  [[nodiscard]] std::span<const double> numbers() const { return numbers_; }
  /// Whether ranks should agree at this step although nothing is due.
  [[nodiscard]] bool is_due(int64_t steps) const { return steps >= next_; }
  /// What ranks may wait for each other in.
  [[nodiscard]] comm::LaggedReduction& reduction() { return reduction_; }
  /// Has ranks agree about twice a second from the first step on.
  void watch() { next_ = 1; }

 private:
  comm::LaggedReduction reduction_;
  size_t width_ = 0;  ///< of the numbers in the agreement under way
  std::span<const double> numbers_;
  double seconds_per_step_ = 0;  ///< of the slowest rank
  int64_t next_ = std::numeric_limits<int64_t>::max();
  int64_t steps_ = 0;  ///< when this rank contributed last
  double time_ = 0;    ///< monotonic seconds, then
};

}  // namespace pillion::simulation

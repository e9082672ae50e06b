// SPDX-License-Identifier: BSD-3-Clause
// Agreement one publication late.
#include "runtime/consensus.hpp"

#include <algorithm>
#include <cmath>

#include "model/coarsen.hpp"

namespace pillion::runtime {

using model::WhenFull;

Decision decide(WhenFull policy, const Standing& before, Claim claim) {
  if (before.blocked) return {.skip = true};
  if (policy == WhenFull::Skip && claim == Claim::Waits) return {.skip = before.scant};
  if (policy == WhenFull::Skip && claim == Claim::Yields && before.tight) return {.skip = true};
  if (!before.full) return {};
  if (policy == WhenFull::Coarsen)
    return {.skip = before.level > model::max_coarsening, .level = before.level};
  return {.skip = policy == WhenFull::Skip};
}

int64_t steps_to_next_look(double pace) {
  constexpr double between_looks = 0.5;
  constexpr double most_steps = 100000;
  if (!(pace > 0)) return 1;
  return static_cast<int64_t>(std::clamp(std::floor(between_looks / pace), 1.0, most_steps));
}

namespace {

// Where things stand among the numbers of which the maximum is taken.
enum Slot {
  full,
  tight,
  scant,
  dropped,
  blocked,
  level,
  pace,
  not_ready,
  deserted = not_ready + guest_seats,
  disabled = deserted + guest_seats
};

}  // namespace

Consensus::Consensus(const comm::Communicator& simulation, size_t analyses)
    : simulation_(simulation), values_(Slot::disabled + analyses) {}

void Consensus::extend(size_t analyses) { values_.resize(Slot::disabled + analyses); }

void Consensus::start(const Standing& mine) {
  std::fill(values_.begin(), values_.end(), 0.0);
  values_[Slot::full] = mine.full ? 1 : 0;
  values_[Slot::tight] = mine.tight ? 1 : 0;
  values_[Slot::scant] = mine.scant ? 1 : 0;
  values_[Slot::dropped] = mine.dropped ? 1 : 0;
  values_[Slot::blocked] = mine.blocked ? 1 : 0;
  values_[Slot::level] = mine.level;
  values_[Slot::pace] = mine.pace;
  for (size_t g = 0; g < guest_seats; ++g) {
    values_[Slot::not_ready + g] = mine.ready[g] ? 0 : 1;
    values_[Slot::deserted + g] = mine.deserted[g] ? 1 : 0;
  }
  for (const int32_t a : mine.disabled)
    if (Slot::disabled + static_cast<size_t>(a) < values_.size())
      values_[Slot::disabled + static_cast<size_t>(a)] = 1;
  if (simulation_.size() > 1)
    request_ = comm::start_maximum(simulation_, values_.data(), static_cast<int>(values_.size()));
  pending_ = true;
}

const Standing& Consensus::settle() {
  if (!pending_) {
    // What was heard once is not heard again.
    standing_.ready = {};
    standing_.deserted = {};
    return standing_;
  }
  request_.wait();
  pending_ = false;
  standing_ = {};
  standing_.full = values_[Slot::full] != 0;
  standing_.tight = values_[Slot::tight] != 0;
  standing_.scant = values_[Slot::scant] != 0;
  standing_.dropped = values_[Slot::dropped] != 0;
  standing_.blocked = values_[Slot::blocked] != 0;
  standing_.level = static_cast<int32_t>(values_[Slot::level]);
  standing_.pace = values_[Slot::pace];
  for (size_t g = 0; g < guest_seats; ++g) {
    standing_.ready[g] = values_[Slot::not_ready + g] == 0;
    standing_.deserted[g] = values_[Slot::deserted + g] != 0;
  }
  for (size_t a = Slot::disabled; a < values_.size(); ++a)
    if (values_[a] != 0) standing_.disabled.insert(static_cast<int32_t>(a - Slot::disabled));
  return standing_;
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is.
#include "runtime/turns.hpp"

#include <algorithm>

namespace pillion::runtime {

Turns::Turn& Turns::turn(size_t analysis) {
  if (analysis >= turns_.size()) turns_.resize(analysis + 1);
  return turns_[analysis];
}

void Turns::served(const std::vector<size_t>& due, int64_t sequence) {
  for (const size_t a : due) turn(a) = {.served = sequence, .window = turn(a).window / 2};
}

// Only who had the turn, and found no room, needs more of it: the others yielded, or had no claim.
void Turns::skipped(const std::vector<size_t>& due) {
  constexpr int64_t widest = int64_t{1} << 30;
  const auto first = next();
  for (const size_t a : due) {
    Turn& own = turn(a);
    if (first == a || !own.waits) own.window = std::clamp<int64_t>(2 * own.window, 1, widest);
    own.waits = true;
  }
}

// What is dropped again and again may be too large for any room: nobody need yield for that.
void Turns::dropped(const std::vector<size_t>& due) {
  constexpr int64_t most = 3;
  skipped(due);
  for (const size_t a : due)
    if (++turn(a).drops > most) pass(a);
}

void Turns::pass(size_t analysis) { turn(analysis).waits = false; }

std::optional<size_t> Turns::next() const {
  std::optional<size_t> best;
  for (size_t a = 0; a < turns_.size(); ++a)
    if (turns_[a].waits && (!best || turns_[a].served < turns_[*best].served)) best = a;
  return best;
}

bool Turns::yields(const std::vector<size_t>& due, int64_t steps_until_next) const {
  const auto first = next();
  return first && std::find(due.begin(), due.end(), *first) == due.end() &&
         steps_until_next <= turns_[*first].window;
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a slot.
#include "policy/slots.hpp"

#include <algorithm>

namespace pillion::policy {

std::optional<CollectiveAction> SlotState::settle(int slot, bool ready, bool lost) {
  if (lost) {
    phase_ = Phase::Free;
    const Release release{slot, first_, last_};
    first_ = last_ = 0;
    return release;
  }
  if (!ready || phase_ != Phase::Free) return {};
  phase_ = Phase::Admitting;
  return Admit{slot};
}

void SlotState::admitted(size_t first, size_t count) {
  phase_ = count > 0 ? Phase::Active : Phase::Free;
  first_ = first;
  last_ = first + count;
}

// Beside those of the run itself, analyses begin where those of another job end.
size_t first_free(const std::array<SlotState, attached_slots>& slots, size_t own, size_t count) {
  const auto is_free = [&](size_t first) {
    return std::all_of(slots.begin(), slots.end(), [&](const SlotState& slot) {
      return first + count <= slot.first() || first >= slot.last();
    });
  };
  size_t best = own;
  bool found = is_free(own);
  for (const auto& slot : slots) {
    const size_t first = std::max(slot.last(), own);
    if (!is_free(first) || (found && first >= best)) continue;
    best = first;
    found = true;
  }
  return best;
}

}  // namespace pillion::policy

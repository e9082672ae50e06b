// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a slot.
#include "policy/slots.hpp"

namespace pillion::policy {

std::optional<CollectiveAction> SlotState::settle(int slot, bool ready, bool lost) {
  if (lost) {
    phase_ = Phase::Free;
    first_ = last_ = 0;
    return Release{slot};
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

}  // namespace pillion::policy

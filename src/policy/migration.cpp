// SPDX-License-Identifier: BSD-3-Clause
// When an analysis moves.
#include "policy/migration.hpp"

namespace pillion::policy {

std::optional<CollectiveAction> MigrationState::before_publication(bool should_move) const {
  if (place_ == Place::Recalled) return TakeBack{analysis_};
  if (place_ == Place::Simulation && should_move && !fixed_) return MoveToSidecars{analysis_};
  return {};
}

std::optional<CollectiveAction> MigrationState::after_publication(bool should_move) const {
  if (place_ == Place::Sidecars && should_move && !fixed_) return Recall{analysis_};
  return {};
}

std::optional<CollectiveAction> MigrationState::settle() const {
  if (place_ == Place::Recalled) return TakeBack{analysis_};
  return {};
}

// What sidecars could not save they have kept, and work on.
void MigrationState::on(const MoveFailed& event) {
  if (place_ == Place::Recalled) place_ = Place::Sidecars;
  fixed_ = fixed_ || event.for_good;
}

}  // namespace pillion::policy

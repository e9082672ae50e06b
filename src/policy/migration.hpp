// SPDX-License-Identifier: BSD-3-Clause
// Where an analysis with `at: auto` runs, and the way between. To the sidecars it moves before a
// publication. Back it comes in two parts: it is recalled after one publication, and taken back
// before the next, so that sidecars finish what they were given first.
#pragma once

#include "policy/events.hpp"

namespace pillion::policy {

class MigrationState {
 public:
  enum class Place { Simulation, Sidecars, Recalled };

  explicit MigrationState(size_t analysis) : analysis_(analysis) {}

  std::optional<CollectiveAction> before_publication(bool should_move) const;
  std::optional<CollectiveAction> after_publication(bool should_move) const;
  /// At a checkpoint or the end, what was recalled is taken back.
  std::optional<CollectiveAction> settle() const;
  void on(const Moved& event) { place_ = event.to_sidecars ? Place::Sidecars : Place::Simulation; }
  void on(const Recalled&) { place_ = Place::Recalled; }
  void on(const MoveFailed& event);

  [[nodiscard]] size_t analysis() const { return analysis_; }
  [[nodiscard]] Place place() const { return place_; }
  /// Whether publications of it go to sidecars.
  [[nodiscard]] bool is_in_sidecars() const { return place_ != Place::Simulation; }

 private:
  size_t analysis_;
  Place place_ = Place::Simulation;
  bool fixed_ = false;  ///< a move has failed for good
};

}  // namespace pillion::policy

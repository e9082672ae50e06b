// SPDX-License-Identifier: BSD-3-Clause
// How the simulation ranks come to the calls that all of them make: they meet first, so that a rank
// learns that others are in another call, or that some have not come within their time.
#pragma once

#include <vector>

#include "comm/calls.hpp"
#include "comm/message.hpp"

namespace pillion::run {
struct Run;
}

namespace pillion::simulation {

class Meetings {
 public:
  explicit Meetings(run::Run& run) : run_(run) { under_way_.reserve(2); }

  /// A reduction for which a rank may wait at a step, in the order that all ranks have.
  void add(comm::LaggedReduction& reduction) { lagged_.push_back(&reduction); }

  /// This rank is in a step. Throws if the ranks have parted.
  void begin_step(int64_t step, double time);
  /// Comes to a call that every rank makes. Throws the same on all of them if they are in different
  /// calls; then they have parted. Throws Late if some rank does not come within `seconds`: then
  /// this call is over for all, and the session continues. Takes no memory but for the error.
  /// [collective]
  void come_to(comm::CallKind kind, double seconds);
  /// At the end of each call: ranks that have parted let the others know, wherever they wait. Does
  /// not wait.
  void end_call() noexcept;

  [[nodiscard]] bool have_parted() const;
  /// Why the ranks have parted; nothing if they have not.
  [[nodiscard]] const std::optional<Error>& why_parted() const;

 private:
  [[nodiscard]] bool is_over();
  run::Run& run_;
  std::vector<comm::LaggedReduction*> lagged_;
  std::vector<comm::Calls::Meeting*> under_way_;
  bool has_joined_ = false;  ///< this rank has joined all reductions, and some may not be over
  bool has_left_ = false;
};

/// A call of this rank. At its end, ranks that have parted let the others know.
class Visit {
 public:
  explicit Visit(Meetings& meetings) : meetings_(meetings) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() { meetings_.end_call(); }

 private:
  Meetings& meetings_;
};

/// Some rank has not come to a call within its time.
class Late : public Error {
 public:
  using Error::Error;
};

}  // namespace pillion::simulation

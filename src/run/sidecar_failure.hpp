// SPDX-License-Identifier: BSD-3-Clause
// Sidecars of the simulation's own MPI job that can work no more, through no fault of a stage: out
// of memory while a publication comes in, or by a defect. They tell every simulation rank, which
// then hands them nothing more and does not wait for them. Other sidecars may hang in a call with
// them; so that the job ends all the same, it is ended in MPI_Finalize.
#pragma once

#include <optional>
#include <string>

#include "run/run.hpp"

namespace pillion::run {

class SidecarFailure {
 public:
  explicit SidecarFailure(const Run& run) : run_(run) {}

  /// Tells all simulation ranks why. By a sidecar; waits for nobody.
  void tell(const std::string& why) const;
  /// Whether a sidecar has told. By a simulation rank; not collective, does not wait.
  [[nodiscard]] bool heard();
  /// Whether any simulation rank has heard; then all have. [collective over them]
  [[nodiscard]] bool heard_by_any();
  /// Until this rank has heard, too.
  void await();
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Sees to it that the job ends when the simulation has come to its end.
  void end_job_at_finalize() const;

 private:
  const Run& run_;
  bool heard_ = false;
  std::string why_;
};

}  // namespace pillion::run

// SPDX-License-Identifier: BSD-3-Clause
// Sidecar jobs that have lost a process. The others wait for that one in MPI, for ever where the
// launcher does not end them, and hold their slots meanwhile, so that no successors can come. The
// simulation rank that sees the death passes the job's number on, and every rank has the processes
// of that job in its slots end. That works while ranks wait for sidecars, too, where they agree on
// nothing.
#pragma once

#include <limits>
#include <set>

#include "comm/communicator.hpp"
#include "transport/transport.hpp"

namespace pillion::simulation {

class LostJobs {
 public:
  /// `slots` are those of this rank; null if no job can attach.
  LostJobs(const comm::Communicator& ranks, transport::Slots* slots)
      : ranks_(ranks), slots_(slots) {}
  /// Looks for processes that have died here, and for what others have seen. Waits for nothing, and
  /// costs nothing to speak of.
  void look();

 private:
  void take(node::JobNumber job, int from);

  const comm::Communicator& ranks_;
  transport::Slots* slots_;
  std::set<node::JobNumber> known_;
  double next_look_ = -std::numeric_limits<double>::infinity();  ///< for word of others
};

}  // namespace pillion::simulation

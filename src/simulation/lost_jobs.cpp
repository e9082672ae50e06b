// SPDX-License-Identifier: BSD-3-Clause
// Word of a lost job travels along a tree of ranks, once to each of them.
#include "simulation/lost_jobs.hpp"

#include "base/clock.hpp"
#include "comm/message.hpp"

namespace pillion::simulation {

// Looking for a message takes longer than looking at slots.
void LostJobs::look() {
  constexpr double between = 1e-3;  // seconds
  if (slots_ == nullptr) return;
  for (const auto job : slots_->lost_jobs()) take(job, ranks_.rank());
  const double now = base::monotonic_seconds();
  if (ranks_.size() == 1 || now < next_look_) return;
  next_look_ = now + between;
  while (auto arrival = comm::find_arrival(ranks_, comm::any_rank, comm::tags::lost_sidecar_job)) {
    node::JobNumber job = 0;
    if (arrival->size != sizeof job)
      base::fail(ErrorCode::Internal, "word of a lost job has {} bytes", arrival->size);
    const int from = arrival->source;
    comm::receive(*arrival, &job);
    take(job, from);
  }
}

// So short a message is sent without waiting for its receiver. Ranks that have closed their session
// do not look for it, and need not.
void LostJobs::take(node::JobNumber job, int from) {
  slots_->expel(job);
  if (!known_.insert(job).second) return;
  const int me = ranks_.rank();
  for (const int to : {(me - 1) / 2, 2 * me + 1, 2 * me + 2})
    // One number, which MPI keeps for the receiver: no wait for a rank that is elsewhere.
    if (to != from && to != me && to < ranks_.size())
      comm::send(ranks_, &job, sizeof job, to, comm::tags::lost_sidecar_job).wait();
}

}  // namespace pillion::simulation

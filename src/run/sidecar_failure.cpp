// SPDX-License-Identifier: BSD-3-Clause
// A message from whoever has failed to everybody who may wait.
#include "run/sidecar_failure.hpp"

#include <chrono>
#include <thread>

#include "comm/at_finalize.hpp"
#include "comm/message.hpp"
#include "comm/tags.hpp"

namespace pillion::run {
namespace {

constexpr size_t longest = 512;  ///< so short that MPI sends it without waiting

}  // namespace

void SidecarFailure::tell(const std::string& why) const {
  const std::string text = why.substr(0, longest);
  for (const int rank : run_.ranks_of(topology::Role::Simulation))
    comm::send(run_.world, text.data(), text.size(), rank, comm::tags::sidecar_failure).wait();
}

bool SidecarFailure::heard() {
  if (heard_ || !run_.configuration.sidecars.any() ||
      run_.configuration.sidecars.job == model::Job::Separate)
    return heard_;
  auto arrival = comm::find_arrival(run_.world, comm::any_rank, comm::tags::sidecar_failure);
  if (!arrival) return false;
  why_.resize(arrival->size);
  comm::receive(*arrival, why_.data());
  return heard_ = true;
}

bool SidecarFailure::heard_by_any() {
  return run_.side.reduced<int32_t>(heard() ? 1 : 0, comm::Operation::Max) != 0;
}

void SidecarFailure::await() {
  while (!heard()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// One sidecar has nobody to leave in a call. And where others share the job, it is not ours to end.
void SidecarFailure::end_job_at_finalize() const {
  if (run_.ranks_of(topology::Role::Sidecar).size() > 1)
    comm::end_job_at_finalize(run_.world, run_.side);
}

}  // namespace pillion::run

// SPDX-License-Identifier: BSD-3-Clause
// Efforts as messages.
#include "run/sidecar_notices.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/message.hpp"
#include "run/run.hpp"
#include "topology/location.hpp"

namespace pillion::run {

namespace {

constexpr size_t most_told = 16;  ///< so few that MPI sends a message of them without waiting

std::vector<size_t> movable_in(const Run& run) {
  std::vector<size_t> out;
  for (size_t a = 0; a < run.accounts.size(); ++a)
    if (run.configuration.analyses[a].is_movable()) out.push_back(a);
  return out;
}

}  // namespace

void send_load_report(const Run& run, double busy) {
  if (run.side.rank() != 0) return;
  const int to = run.ranks_of(topology::Role::Simulation).front();
  const auto migrating = movable_in(run);
  for (size_t first = 0; first < migrating.size(); first += most_told) {
    base::ByteWriter out;
    out.put(busy);
    for (size_t m = first; m < std::min(first + most_told, migrating.size()); ++m) {
      const auto& account = run.accounts[migrating[m]];
      out.put(static_cast<int64_t>(migrating[m]));
      out.put(account.sidecar_seconds);
      out.put(static_cast<double>(account.publications));
    }
    const auto bytes = out.take();
    comm::send(run.world, bytes.data(), bytes.size(), to, comm::tags::load_report).wait();
  }
}

void receive_load_report(const Run& run, LoadReport& load_report) {
  for (auto* sums : {&load_report.worked, &load_report.finished}) sums->resize(run.accounts.size());
  while (auto arrival = comm::find_arrival(run.world, comm::any_rank, comm::tags::load_report)) {
    base::Bytes bytes(arrival->size);
    comm::receive(*arrival, bytes.data());
    base::ByteReader in(bytes);
    load_report.busy = in.get<double>();
    while (!in.done()) {
      const auto a = static_cast<size_t>(in.get<int64_t>());
      load_report.worked.at(a) = in.get<double>();
      load_report.finished.at(a) = in.get<double>();
    }
  }
}

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
  base::wait_until([&] { return heard(); });
}

// A single sidecar leaves no other rank in a call. And where others share the job, it is not ours
// to end.
void SidecarFailure::end_job_at_finalize() const {
  if (run_.ranks_of(topology::Role::Sidecar).size() > 1)
    comm::end_job_at_finalize(run_.world, run_.side);
}

}  // namespace pillion::run

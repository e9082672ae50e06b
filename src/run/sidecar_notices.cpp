// SPDX-License-Identifier: BSD-3-Clause
// Efforts as messages.
#include "run/sidecar_notices.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

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
      out.put(account.sidecar_seconds + account.sidecar_waiting);
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

// The first ranks of both sides speak for all. A message of a byte is sent without waiting.
void tell_closed(const Run& run, bool late) {
  if (run.side.rank() != 0) return;
  const int to = run.ranks_of(topology::Role::Sidecar).front();
  const char text = late ? 1 : 0;
  comm::send(run.world, &text, 1, to, comm::tags::closed).wait();
}

bool were_late(const Run& run) {
  char late = 0;
  if (run.side.rank() == 0) {
    const int from = run.ranks_of(topology::Role::Simulation).front();
    base::wait_until([&] {
      auto arrival = comm::find_arrival(run.world, from, comm::tags::closed);
      if (arrival) comm::receive(*arrival, &late);
      return arrival.has_value();
    });
  }
  return run.side.reduced<int32_t>(late, comm::Operation::Max) != 0;
}

void tell_finished(const Run& run) {
  run.side.barrier();
  if (run.side.rank() != 0) return;
  const int to = run.ranks_of(topology::Role::Simulation).front();
  const char text = 0;
  comm::send(run.world, &text, 1, to, comm::tags::sidecars_finished).wait();
}

// The receive is posted now, for the communicator may be gone by then.
void await_late_sidecars_at_finalize(const Run& run, double seconds) {
  struct Expected {
    char text = 0;
    comm::Request message;
  };
  auto expected = std::make_shared<Expected>();
  const int from = run.ranks_of(topology::Role::Sidecar).front();
  if (run.side.rank() == 0)
    expected->message =
        comm::receive(run.world, &expected->text, 1, from, comm::tags::sidecars_finished);
  comm::end_job_at_finalize(run.world, run.side, [expected, seconds] {
    if (base::wait_until([&] { return expected->message.test(); },
                         base::monotonic_seconds() + seconds))
      return false;
    std::fprintf(
        stderr,
        "pillion: error: sidecars have not finished %.4g s after the simulation's end; the "
        "job ends now, with the simulation's products and its report complete\n",
        seconds);
    return true;
  });
}

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

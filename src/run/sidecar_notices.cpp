// SPDX-License-Identifier: BSD-3-Clause
// Notices as messages, so small that MPI sends them without waiting.
#include "run/sidecar_notices.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "comm/agreement.hpp"
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
    // Less than most_told reports: so short a message is sent without waiting for its receiver.
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

// Last comes a message of fixed size, for which the simulation can post a receive at its end.
void tell_finished(const Run& run, const base::Bytes& summary) {
  if (run.side.rank() != 0) return;
  const int to = run.ranks_of(topology::Role::Simulation).front();
  for (size_t first = 0; first < summary.size(); first += longest)
    // Each at most `longest`: sent without waiting for its receiver.
    comm::send(run.world, summary.data() + first, std::min(longest, summary.size() - first), to,
               comm::tags::sidecars_summary)
        .wait();
  const auto size = static_cast<int64_t>(summary.size());
  // As short as those: no wait for the simulation, which may have ended.
  comm::send(run.world, &size, sizeof size, to, comm::tags::sidecars_finished).wait();
}

std::optional<base::Bytes> await_finished(const Run& run, double deadline) {
  const int from = run.ranks_of(topology::Role::Sidecar).front();
  std::optional<comm::Arrival> arrival;
  const auto await = [&](int tag) {
    // Looks for the message, and receives none yet: a late sidecar leaves nothing under way.
    return base::wait_until(
        [&] { return (arrival = comm::find_arrival(run.world, from, tag)).has_value(); }, deadline);
  };
  if (!await(comm::tags::sidecars_finished)) return {};
  int64_t size = 0;
  comm::receive(*arrival, &size);
  base::Bytes summary(static_cast<size_t>(size));
  // These were sent before, so that they are here or about to come.
  for (size_t first = 0; first < summary.size(); first += longest) {
    if (!await(comm::tags::sidecars_summary)) return {};
    comm::receive(*arrival, summary.data() + first);
  }
  return summary;
}

// The receive is posted now, for the communicator may be gone by then.
bool await_late_sidecars_at_finalize(const Run& run, double seconds) {
  struct Expected {
    int64_t size = 0;
    comm::Request message;
  };
  std::shared_ptr<Expected> expected;
  std::function<bool()> must_end;
  int from = 0;
  comm::together(run.side, [&] {
    expected = std::make_shared<Expected>();
    from = run.ranks_of(topology::Role::Sidecar).front();
    must_end = [expected, seconds] {
      // In MPI_Finalize, when products and report are written: only `seconds` are lost.
      if (base::wait_until([&] { return expected->message.test(); },
                           base::monotonic_seconds() + seconds))
        return false;
      std::fprintf(
          stderr,
          "pillion: error: sidecars have not finished %.4g s after the simulation's end; the "
          "job ends now, with the simulation's products and its report complete\n",
          seconds);
      return true;
    };
  });
  if (run.side.rank() == 0)
    expected->message = comm::receive(run.world, &expected->size, sizeof expected->size, from,
                                      comm::tags::sidecars_finished);
  return comm::end_job_at_finalize(run.world, run.side, std::move(must_end));
}

// A message that MPI cannot send now is left to it, with its text, when the deadline is over.
void SidecarFailure::tell(const std::string& why, const std::vector<int>& ranks) const {
  auto text = std::make_unique<std::string>(why.substr(0, longest));
  std::vector<comm::Request> sent;
  for (const int rank : ranks)
    sent.push_back(
        comm::send(run_.world, text->data(), text->size(), rank, comm::tags::sidecar_failure));
  const auto all_sent = [&] {
    return std::all_of(sent.begin(), sent.end(), [](comm::Request& r) { return r.test(); });
  };
  // Ranks of the simulation look for it at their steps; a rank that has ended does not.
  if (!base::wait_until(all_sent, base::monotonic_seconds() + run_.configuration.sidecars.deadline))
    (void)text.release();
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

bool SidecarFailure::share() {
  constexpr int32_t no_rank = std::numeric_limits<int32_t>::max();
  const int32_t first =
      run_.side.reduced(heard() ? run_.side.rank() : no_rank, comm::Operation::Min);
  if (first == no_rank) return false;
  // A rank that lacks memory for the words takes part all the same.
  std::array<char, longest> text{};
  if (run_.side.rank() == first)
    std::copy_n(why_.begin(), std::min(why_.size(), longest), text.begin());
  run_.side.broadcast(std::as_writable_bytes(std::span(text)), first);
  heard_ = true;
  why_.assign(text.data(), strnlen(text.data(), text.size()));
  return true;
}

// Several sidecars may hang in a call with the one that failed. One alone leaves no other rank in a
// call, and tells when it has come to its end.
bool SidecarFailure::end_job_at_finalize() const {
  if (run_.ranks_of(topology::Role::Sidecar).size() > 1)
    return comm::end_job_at_finalize(run_.world, run_.side);
  return await_late_sidecars_at_finalize(run_, run_.configuration.sidecars.deadline);
}

}  // namespace pillion::run

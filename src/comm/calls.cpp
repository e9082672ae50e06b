// SPDX-License-Identifier: BSD-3-Clause
// Meetings of ranks, each with the call that it is in.
#include "comm/calls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "comm/communicator.hpp"

namespace pillion::comm {

const char* name_of(CallKind kind) {
  switch (kind) {
    case CallKind::Ready: return "pillion_ready or its first pillion_step";
    case CallKind::Step: return "pillion_step";
    case CallKind::Checkpoint: return "pillion_checkpoint";
    case CallKind::Close: return "pillion_close";
    case CallKind::Left: return "no call, because it has met a difference before";
    default: return "another call";
  }
}

std::string text_of(const Call& call) {
  if (call.kind != CallKind::Step) return name_of(call.kind);
  return fmt::format("{} for step {} at time {:.10g}", name_of(call.kind), call.step, call.time);
}

namespace {

/// What is not a number is the same on all ranks, and has a place in the order.
double ordered(double time) {
  return std::isnan(time) ? std::numeric_limits<double>::lowest() : time;
}

auto key_of(const Met::Caller& caller) {
  return std::tuple(caller.call.kind, caller.call.step, ordered(caller.call.time), caller.rank);
}

}  // namespace

bool is_same(const Call& one, const Call& other) {
  constexpr double of_rounding = 1e-9;
  if (one.kind != other.kind || one.step != other.step) return false;
  const double a = ordered(one.time), b = ordered(other.time);
  return a == b || std::abs(a - b) <= of_rounding * std::max(std::abs(a), std::abs(b));
}

void join(const Met& other, Met& met) {
  met.marks |= other.marks;
  if (key_of(other.least) < key_of(met.least)) met.least = other.least;
  if (key_of(met.greatest) < key_of(other.greatest)) met.greatest = other.greatest;
}

namespace {

Error parting(const std::string& what) {
  return {ErrorCode::State,
          fmt::format("simulation ranks do not make the same calls: {}. Make the same calls, with "
                      "the same step and time, on every rank. This session analyses nothing more",
                      what)};
}

}  // namespace

std::optional<Error> difference(const Met& met) {
  const auto &one = met.least, &other = met.greatest;
  if (is_same(one.call, other.call)) return {};
  return parting(fmt::format("rank {} is in {}, rank {} in {}", one.rank, text_of(one.call),
                             other.rank, text_of(other.call)));
}

std::optional<Error> difference(const Call& least, const Call& greatest) {
  if (is_same(least, greatest)) return {};
  if (least.kind != greatest.kind)
    return parting(
        fmt::format("some are in {}, others in {}", name_of(least.kind), name_of(greatest.kind)));
  if (least.step != greatest.step)
    return parting(fmt::format("their steps are from {} to {}", least.step, greatest.step));
  return parting(fmt::format("at step {} their times are from {:.10g} to {:.10g}", least.step,
                             least.time, greatest.time));
}

namespace {

void join_all(void* from, void* to, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) join(static_cast<const Met*>(from)[i], static_cast<Met*>(to)[i]);
}

struct Reduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
};

// Made at the first meeting, and kept as long as MPI runs.
const Reduction& reduction() {
  static const Reduction made = [] {
    Reduction out;
    check(MPI_Type_contiguous(sizeof(Met), MPI_BYTE, &out.type), "MPI_Type_contiguous");
    check(MPI_Type_commit(&out.type), "MPI_Type_commit");
    check(MPI_Op_create(&join_all, 1, &out.operation), "MPI_Op_create");
    return out;
  }();
  return made;
}

Request start_reduction(MPI_Comm comm, Met& met) {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto& [type, operation] = reduction();
  check(MPI_Iallreduce(MPI_IN_PLACE, &met, 1, type, operation, comm, &request), "MPI_Iallreduce");
  return Request(request);
}

Met brought(const Call& call, int rank, int64_t marks) {
  const Met::Caller me{call, static_cast<int32_t>(rank)};
  return {marks, me, me};
}

}  // namespace

void Calls::part(Error why) {
  if (!why_parted_) why_parted_ = std::move(why);
  throw *why_parted_;
}

// A rank that has a deadline, or waits for something else, too, comes to the same meetings by
// start_meeting(); and MPI does not match a reduction that blocks with one that does not.
int64_t Calls::meet(MPI_Comm comm, int rank, int64_t marks) {
  expect_joined();
  Met met = brought(now_, rank, marks);
  start_reduction(comm, met).wait();
  if (auto why = difference(met)) part(std::move(*why));
  return met.marks;
}

Calls::Meeting& Calls::start(const Call& call, MPI_Comm comm, int rank, int64_t marks) {
  if (spare_.empty()) spare_.emplace_back();
  meetings_.splice(meetings_.end(), spare_, spare_.begin());
  auto& meeting = meetings_.back();
  meeting.met_ = brought(call, rank, marks);
  meeting.request_ = start_reduction(comm, meeting.met_);
  return meeting;
}

Calls::Meeting& Calls::start_meeting(MPI_Comm comm, int rank, int64_t marks) {
  expect_joined();
  return start(now_, comm, rank, marks);
}

bool Calls::Meeting::is_over(Calls& calls) {
  if (!request_.test()) return false;
  if (auto why = difference(met_)) calls.part(std::move(*why));
  return true;
}

// What others bring is of no interest any more, and they may never come.
void Calls::leave(MPI_Comm comm, int rank) noexcept {
  if (std::exchange(has_left_, true)) return;
  try {
    (void)start({CallKind::Left}, comm, rank, 0);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): then others may wait for it
  }
}

void Calls::forget_meetings() {
  for (auto at = meetings_.begin(); at != meetings_.end();) {
    const auto meeting = at++;
    if (meeting->request_.test()) spare_.splice(spare_.end(), meetings_, meeting);
  }
}

}  // namespace pillion::comm

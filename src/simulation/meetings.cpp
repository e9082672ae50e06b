// SPDX-License-Identifier: BSD-3-Clause
// Two meetings for each call: at the first every rank is waited for, at the second all know whether
// any gave up waiting.
#include "simulation/meetings.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "run/run.hpp"

namespace pillion::simulation {

namespace {

constexpr int64_t waited_in_vain = 1;

Late late(const char* name, double seconds) {
  return Late(ErrorCode::State,
              fmt::format("not all simulation ranks came to {} within {:.4g} s; call it on every "
                          "rank. A longer 'sidecars: {{deadline: …}}' waits longer",
                          name, seconds));
}

}  // namespace

const std::optional<Error>& Meetings::why_parted() const {
  static const std::optional<Error> joined;
  return run_.calls ? run_.calls->why_parted() : joined;
}

bool Meetings::have_parted() const { return why_parted().has_value(); }

void Meetings::begin_step(int64_t step, double time) {
  if (!run_.calls) return;
  run_.calls->expect_joined();
  run_.calls->begin({comm::CallKind::Step, step, time});
}

// All are asked, so that a difference is found in whichever comes first.
bool Meetings::is_over() {
  bool over = true;
  for (auto& meeting : under_way_) {
    if (meeting != nullptr && meeting->is_over(*run_.calls)) meeting = nullptr;
    over = over && meeting == nullptr;
  }
  for (auto* reduction : lagged_) over = reduction->has_joined() && over;
  if (!over) return false;
  under_way_.clear();
  has_joined_ = false;
  return true;
}

// A rank that waits for others at a step waits in a reduction or in a meeting, and this rank comes
// to all of them before it waits itself. So whatever the others do, all ranks meet somewhere. What
// ranks that gave up have left under way ends when the last rank has come; until then no other call
// begins.
void Meetings::come_to(comm::CallKind kind, double seconds) {
  auto* calls = run_.calls.get();
  if (calls == nullptr) return;
  calls->expect_joined();
  if (run_.side.size() == 1) return calls->begin({kind});
  const char* name = comm::name_of(kind);
  const double deadline = base::monotonic_seconds() + seconds;
  // Meetings of earlier calls. Others came to them or wait in them, so each ends.
  if (!base::wait_until([&] { return is_over(); }, deadline)) throw late(name, seconds);
  calls->forget_meetings();
  calls->begin({kind});
  const auto handle = run_.side.handle();
  const int rank = run_.side.rank();
  under_way_.push_back(&calls->start_meeting(handle, rank, 0));
  has_joined_ = true;
  for (auto* reduction : lagged_) reduction->join();
  // All ranks come here at their next call, whichever it is; if one does not, this rank gives
  // up at the deadline, and the second meeting tells the others.
  const bool all_came = base::wait_until([&] { return is_over(); }, deadline);
  auto& second = calls->start_meeting(handle, rank, all_came ? 0 : waited_in_vain);
  if (!all_came) {
    under_way_.push_back(&second);
    throw late(name, seconds);
  }
  // All are in this call, and on their way here.
  (void)base::wait_until([&] { return second.is_over(*calls); });
  if ((second.marks() & waited_in_vain) != 0) throw late(name, seconds);
}

void Meetings::end_call() noexcept {
  if (!have_parted() || std::exchange(has_left_, true)) return;
  run_.calls->leave(run_.side.handle(), run_.side.rank());
  // Others that wait in a reduction which this rank has joined know already.
  if (has_joined_) return;
  for (auto* reduction : lagged_) reduction->leave();
}

}  // namespace pillion::simulation

// SPDX-License-Identifier: BSD-3-Clause
// How simulation ranks agree: at every publication, and where guests may come also now and then
// between, each acts on what all said when they last met, and says how it stands now.
#include <algorithm>

#include "model/coarsen.hpp"
#include "runtime/simulation_side.hpp"

namespace pillion::runtime {

using model::WhenFull;
using node::SeatState;

namespace {

int seat_of(int guest) { return guest + 1; }

/// A quarter more than what it would be on average: particles come with their ids then, and are
/// chosen by them.
size_t coarse_size(size_t whole, int32_t level) { return (whole + whole / 4) >> level; }

}  // namespace

const Standing& SimulationSide::meet() {
  const Standing& said = consensus_.settle();
  turn_dropped_ = turn_dropped_ || said.dropped;
  link_.sender->poll();
  allocations_.reclaim(link_.node != nullptr ? link_.node->writer().freed() : sequence_);
  launcher_.tend();
  for (const int32_t number : said.disabled) {
    const auto a = static_cast<size_t>(number);
    if (!run_.enabled(a)) continue;
    run_.disabled[a] = loss_.heard() ? "the sidecars ended early: " + loss_.why()
                                     : "it was disabled in the sidecars, or after a failure on a "
                                       "simulation rank";
    finish_disabled(a);
  }
  for (int g = 0; g < guest_seats; ++g) {
    if (said.deserted[static_cast<size_t>(g)]) dismiss(g);
    else if (said.ready[static_cast<size_t>(g)]) admit(g);
  }
  return said;
}

Standing SimulationSide::standing() {
  Standing mine;
  const auto& sender = *link_.sender;
  const auto policy = run_.configuration.sidecars.when_full;
  mine.full = !sender.fits(last_size_);
  mine.dropped = std::exchange(dropped_, false);
  // Of what was never published nobody knows how large it is.
  if (const auto next = turns_.next()) {
    const auto known = sizes_.find(*next);
    mine.scant = known != sizes_.end() ? !sender.fits(known->second) : sender.in_flight() > 0;
    mine.tight = known == sizes_.end() || !sender.fits(last_size_ + known->second);
  }
  stalled_ = stalled_ && mine.full;
  mine.blocked = !sender.fits_head() || stalled_ ||
                 (policy == WhenFull::Spill && mine.full && !sender.fits_spill(last_size_));
  if (mine.full && policy == WhenFull::Coarsen)
    for (mine.level = 1; mine.level <= model::max_coarsening; ++mine.level)
      if (sender.fits(coarse_size(last_size_, mine.level))) break;
  mine.disabled = sender.disabled();
  mine.disabled.insert(failed_.begin(), failed_.end());
  if (loss_.heard())
    for (size_t a = 0; a < own_analyses_; ++a)
      if (is_there(a)) mine.disabled.insert(static_cast<int32_t>(a));
  const bool guests = link_.node != nullptr && link_.node->writer().has_guests();
  for (int g = 0; guests && g < guest_seats; ++g) {
    auto& writer = link_.node->writer();
    const auto index = static_cast<size_t>(g);
    mine.deserted[index] = writer.is_deserted(seat_of(g));
    mine.ready[index] = !mine.deserted[index] && writer.seat(seat_of(g)).state == SeatState::Ready;
  }
  return mine;
}

void SimulationSide::part(double pace) {
  Standing mine;
  contain({}, [&] {
    link_.sender->poll();
    mine = standing();
  });
  const double now = base::monotonic_seconds();
  if (steps_ > steps_at_look_ && time_of_look_ > 0)
    mine.pace = (now - time_of_look_) / static_cast<double>(steps_ - steps_at_look_);
  steps_at_look_ = steps_;
  time_of_look_ = now;
  if (link_.node != nullptr) next_look_ = steps_ + steps_to_next_look(pace);
  consensus_.start(mine);
}

void SimulationSide::look() {
  contain({}, [&] { (void)meet(); });
  part(consensus_.last().pace);
  contain({}, [&] {
    behind_ = link_.sender->behind();
    tell();
  });
}

std::set<std::string> SimulationSide::names_in_use() const {
  std::set<std::string> names;
  for (size_t a = 0; a < run_.configuration.analyses.size(); ++a) {
    const bool gone =
        a >= own_analyses_ && std::none_of(guests_.begin(), guests_.end(),
                                           [&](auto g) { return g.first <= a && a < g.second; });
    if (!gone) names.insert(run_.configuration.analyses[a].name);
  }
  return names;
}

// Every rank does this at the same meeting, from the same text.
void SimulationSide::admit(int guest) {
  auto& [first, last] = guests_[static_cast<size_t>(guest)];
  if (last > first) return;
  auto& analyses = run_.configuration.analyses;
  const size_t before = analyses.size();
  try {
    const auto wish = read_guest(link_.berth.segment->read_board(seat_of(guest)));
    auto added = wish.analyses(run_.configuration.catalogue, names_in_use());
    if (added.size() != wish.needs.size() ||
        before + added.size() > static_cast<size_t>(node::most_analyses))
      base::fail(ErrorCode::Configuration, "guest '{}' brings {} analyses, which is too many",
                 wish.name, added.size());
    for (auto& analysis : added) {
      crossing_.push_back(wish.needs[analyses.size() - before]);
      analyses.push_back(std::move(analysis));
      chains_.emplace_back();
      auto& trigger = triggers_.emplace_back();
      if (analyses.back().when)
        trigger = std::make_unique<Trigger>(*analyses.back().when, run_.configuration.catalogue,
                                            run_.side);
    }
    run_.remark(fmt::format("guest '{}' joined after step {}", wish.name, agenda_.last_step()));
  } catch (const std::exception& e) {
    run_.warn(fmt::format("a guest was turned away: {}", e.what()));
    link_.node->writer().turn_away(seat_of(guest));
    return;
  }
  first = before;
  last = analyses.size();
  run_.accounts.resize(last);
  run_.disabled.resize(last);
  agenda_.extend(time_);
  consensus_.extend(last);
  link_.node->set_analyses(seat_of(guest), static_cast<int32_t>(before),
                           static_cast<int32_t>(last - before));
  link_.node->writer().seat(seat_of(guest)).base = static_cast<int32_t>(before);
  link_.node->writer().activate(seat_of(guest));
}

void SimulationSide::dismiss(int guest) {
  auto& [first, last] = guests_[static_cast<size_t>(guest)];
  for (size_t a = first; a < last; ++a) {
    if (!run_.enabled(a)) continue;
    run_.disabled[a] = fmt::format("its guest left after step {}", agenda_.last_step());
    // Otherwise the others would leave room for it for the rest of the run.
    turns_.pass(a);
  }
  first = last = 0;
  link_.node->writer().vacate(seat_of(guest));
}

}  // namespace pillion::runtime

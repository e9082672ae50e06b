// SPDX-License-Identifier: BSD-3-Clause
// Attached jobs, as a simulation rank lives them: how their analyses come, leave and are counted.
#include <algorithm>
#include <deque>
#include <utility>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "run/attached_job.hpp"
#include "simulation/simulation.hpp"

namespace pillion::simulation {

void Simulation::note_evicted(size_t a, int slot) {
  auto& account = run_.accounts[a];
  const int64_t lost = publisher_->unfinished(a, slot);
  account.lost += lost;
  run_.disabled[a] =
      fmt::format("after step {} its attached job held memory that the run needed, and lost it",
                  agenda_.last_step());
  run_.warn(fmt::format(
      "after step {} the run took its memory back from the attached job of analysis '{}', which "
      "was "
      "stopped or too slow: {} of {} publications of it are lost. The limit is {}: 'sidecars: "
      "{{attached: {{memory: SIZE}}}}'",
      agenda_.last_step(), run_.configuration.analyses[a].name, lost, account.publications,
      base::format_bytes(run_.configuration.sidecars.attached_memory())));
}

// What a job that died had not worked on is lost now. What it had worked on and not written is
// counted at the end, for the disk may be slow.
void Simulation::release(const policy::Release& action) {
  const auto departure = subscribers_.release(action.slot);
  if (action.evicted) return;  // it may still write what it had taken
  contain(nothing, [&] {
    for (size_t a = action.first; a < action.last; ++a) {
      auto& account = run_.accounts[a];
      if (account.lost == 0) account.lost = publisher_->unworked(a, departure.worked);
      if (departure.of_own_accord) continue;
      run_.died.insert(a);
      if (a != action.first) continue;
      run_.remark(
          fmt::format("the attached job of analysis '{}' ended after step {} without having "
                      "left; publications that are not in its products are counted as lost",
                      run_.configuration.analyses[a].name, agenda_.last_step()));
    }
  });
}

void Simulation::release_dead() {
  auto* slots = publisher_->sender().slots();
  if (slots == nullptr || !slots->any()) return;
  for (int s = 0; s < policy::attached_slots; ++s) {
    const auto& slot = policy_.slot(s);
    if (slot.phase() == policy::SlotState::Phase::Active &&
        slots->sight(s) == transport::SlotSight::Lost)
      release({s, slot.first(), slot.last()});
  }
}

Simulation::Admitted Simulation::prepare_analyses_of(int slot) {
  auto& analyses = run_.configuration.analyses;
  const auto job = subscribers_.read(slot);
  Admitted out{.job = job.name, .first = 0, .analyses = {}, .departed = {}};
  out.analyses = job.analyses(run_.configuration.catalogue, subscribers_.names_in_use());
  out.first = policy_.place_for(out.analyses.size());
  const size_t count = std::max(analyses.size(), out.first + out.analyses.size());
  for (size_t i = 0; i < out.analyses.size(); ++i) {
    const size_t a = out.first + i;
    if (a < analyses.size()) {
      out.departed.push_back(
          {analyses[a], run_.accounts[a], run_.disabled[a], run_.died.contains(a)});
    } else {
      analyses.push_back(out.analyses[i]);
      stages_.add();
    }
    conditions_.set(a, out.analyses[i]);
    cut_fields_.resize(std::max(cut_fields_.size(), a + 1));
    cut_fields_[a] = job.needs[i];
  }
  run_.departed.reserve(run_.departed.size() + out.departed.size());
  run_.accounts.resize(count);
  run_.disabled.resize(count, "it was not admitted");
  agenda_.extend(agenda_.last_time());
  lists_.reserve(count);
  agreement_.reserve(count, run_.scalars.size());
  policy_.reserve(count);
  return out;
}

// Numbers of analyses are few, so those of jobs that have left are used again: all that is kept by
// number begins as for a new one.
void Simulation::take_analyses(Admitted& admitted) {
  for (auto& departed : admitted.departed) run_.keep(std::move(departed));
  for (size_t i = 0; i < admitted.analyses.size(); ++i) {
    const size_t a = admitted.first + i;
    run_.configuration.analyses[a] = std::move(admitted.analyses[i]);
    run_.accounts[a] = {};
    run_.disabled[a].clear();
    run_.dropping.erase(a);
    run_.died.erase(a);
    agenda_.schedule_state(a) = {};
    policy_.set(a, {.in_sidecars = true, .needs_whole = !cut_fields_[a].whole_for.empty()});
  }
  agenda_.extend(agenda_.last_time());
  publisher_->forget_messages();
  run_.remark(
      fmt::format("attached job '{}' joined after step {}", admitted.job, agenda_.last_step()));
}

void Simulation::forget_analyses_from(size_t first) {
  auto& analyses = run_.configuration.analyses;
  while (analyses.size() > first) analyses.pop_back();
  cut_fields_.resize(first);
  stages_.resize(first);
  conditions_.resize(first);
  agreement_.reserve(first, run_.scalars.size());
  run_.accounts.resize(first);
  run_.disabled.resize(first);
  agenda_.extend(agenda_.last_time());
}

// Every rank does this after the same agreement, from the same text. But some may lack memory, and
// all must then refuse the job: an analysis has one number on all ranks. What it takes is paid
// by attached jobs.
void Simulation::admit(int slot) {
  const run::Stopwatch watch;
  // Its result may be of an analysis whose number is given away now.
  if (const auto cost = conditions_.settle(agenda_)) carry_out(policy_.on(*cost));
  const size_t before = run_.configuration.analyses.size();
  Admitted admitted;
  try {
    comm::together(run_.side, [&] { admitted = prepare_analyses_of(slot); });
  } catch (const std::exception& e) {
    forget_analyses_from(before);
    run_.warn(fmt::format("an attached job was turned away: {}", e.what()));
    subscribers_.refuse(slot);
    carry_out(policy_.on(policy::SlotAdmitted{slot, 0, 0}));
    attached_seconds_ += watch.seconds();
    return;
  }
  const size_t first = admitted.first, count = admitted.analyses.size();
  take_analyses(admitted);
  carry_out(policy_.on(policy::SlotAdmitted{slot, first, count}));
  subscribers_.admit(slot, first, count);
  attached_seconds_ += watch.seconds();
}

}  // namespace pillion::simulation

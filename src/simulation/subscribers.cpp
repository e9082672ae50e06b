// SPDX-License-Identifier: BSD-3-Clause
// Sidecars and attached jobs, as a simulation rank sees them.
#include "simulation/subscribers.hpp"

#include <utility>

#include "base/clock.hpp"
#include "node/segment.hpp"
#include "policy/losses.hpp"
#include "products/table_head.hpp"
#include "run/attached_job.hpp"
#include "run/report.hpp"
#include "run/run.hpp"
#include "run/saved_state.hpp"

namespace pillion::simulation {

using transport::SlotSight;

namespace {

// No sidecar will write anything more, so a publication that is in no product is lost, whatever
// sidecars that died had computed.
void count_unwritten(run::Run& run, size_t own, const run::SavedState& saved) {
  for (size_t a = 0; a < own; ++a) {
    const auto& analysis = run.configuration.analyses[a];
    const auto known = saved.analyses.find(analysis.name);
    if (!analysis.in_sidecars() || known == saved.analyses.end()) continue;
    const auto found =
        products::publications_in(std::filesystem::path(run.configuration.output) / analysis.name);
    auto& account = run.accounts[a];
    int64_t written = 0;
    if (found.in_series) written = *found.in_series - known->second.earlier;
    else if (found.any) written = known->second.costs.publications;
    account.lost = policy::lost_at_end({.published = account.publications, .written = written});
  }
}

// The report then counts what the heads of tables, which sidecars wrote, do not know of.
void correct_heads(const run::Run& run, size_t own) {
  for (size_t a = 0; a < own; ++a) {
    const auto& analysis = run.configuration.analyses[a];
    if (!analysis.in_sidecars()) continue;
    auto counts = run.earlier.of(a);
    add(counts, run::counts_of(run.configuration, run.configuration.analyses[a],
                               run::summary_of(run.accounts[a], {}), {}));
    products::correct_heads(std::filesystem::path(run.configuration.output) / analysis.name,
                            {.published = counts.publications + counts.missing(),
                             .skipped = counts.skipped,
                             .coarsened = counts.coarsened,
                             .lost = counts.missing()});
  }
}

}  // namespace

Subscribers::Subscribers(run::Run& run, transport::Sender* sender, run::Supervisor supervisor,
                         policy::Policy& policy)
    : run_(run),
      sender_(sender),
      supervisor_(std::move(supervisor)),
      policy_(policy),
      sidecar_failure_(run),
      lost_jobs_(run.side, sender != nullptr ? sender->slots() : nullptr) {}

// Looking for a message takes longer than the rest of a small publication.
void Subscribers::tend() {
  constexpr double between = 1e-3;  // seconds
  lost_jobs_.look();
  supervisor_.tend();
  const double now = base::monotonic_seconds();
  if (failed_ || now < next_look_) return;
  next_look_ = now + between;
  if (sidecar_failure_.heard()) note_failure();
}

void Subscribers::note_failure() {
  failed_ = true;
  (void)policy_.on(policy::LocalEvent(policy::SidecarFailed{}));
}

void Subscribers::learn_failure() {
  if (sidecar_failure_.share() && !failed_) note_failure();
}

void Subscribers::see() {
  if (!sender_->disabled().empty())
    (void)policy_.on(policy::LocalEvent(policy::AnalysesFailed{sender_->disabled()}));
  auto* slots = sender_->slots();
  if (slots == nullptr) return;
  const bool any = slots->any();
  if (!std::exchange(saw_any_, any) && !any) return;
  for (int s = 0; s < policy::attached_slots; ++s) {
    const auto sight = any ? slots->sight(s) : SlotSight::Free;
    policy::LocalEvent event = policy::SlotFreed{s};
    if (sight == SlotSight::Ready) event = policy::SlotReady{s};
    else if (sight == SlotSight::Lost) event = policy::SlotLost{s};
    else if (sight == SlotSight::Evicted) event = policy::SlotLost{s, true};
    (void)policy_.on(event);
  }
}

std::string Subscribers::why_failed() const {
  return "the sidecars ended early: " + sidecar_failure_.why();
}

std::set<std::string> Subscribers::names_in_use() const {
  std::set<std::string> names;
  const auto& analyses = run_.configuration.analyses;
  for (size_t a = 0; a < policy_.own_analyses(); ++a) names.insert(analyses[a].name);
  for (int s = 0; s < policy::attached_slots; ++s)
    for (size_t a = policy_.slot(s).first(); a < policy_.slot(s).last(); ++a)
      names.insert(analyses[a].name);
  return names;
}

run::AttachedJob Subscribers::read(int slot) const {
  // The program that attaches has looked itself, but may be another than ours.
  if (!run_.configuration.sidecars.attached.allowed)
    base::fail(ErrorCode::State, "the configuration says 'sidecars: {{attached: no}}'");
  auto job = base::from_bytes<run::AttachedJob>(sender_->slots()->request(slot));
  const auto added = job.analyses(run_.configuration.catalogue, names_in_use()).size();
  const size_t first = policy_.place_for(added);
  if (added != job.needs.size() || first + added > static_cast<size_t>(node::most_analyses))
    base::fail(ErrorCode::Configuration,
               "attached job '{}' brings {} analyses; after the {} that are there, a run has room "
               "for {} in all",
               job.name, added, first, node::most_analyses);
  return job;
}

void Subscribers::admit(int slot, size_t first, size_t count) {
  sender_->slots()->activate(slot, static_cast<int32_t>(first), static_cast<int32_t>(count));
}

// A rank whose own sidecar has finished everything may not know yet that another has failed.
policy::SidecarsAnswered Subscribers::settle(bool finished_here) {
  if (run_.configuration.sidecars.job != model::Job::Separate) learn_failure();
  if (failed_) return {.failed = true};
  return {.finished = run_.side.reduced<int32_t>(finished_here ? 1 : 0, comm::Operation::Min) != 0};
}

void Subscribers::close_channel() {
  if (auto* slots = sender_->slots()) slots->close();
}

// Sidecars that came from here on would find nothing to resume from, and spoil the report.
Subscribers::Found Subscribers::retire() {
  const auto report = std::filesystem::path(run_.configuration.output) / run::report_name;
  auto found = Found::Live;
  if (run_.side.rank() == 0) {
    auto& slots = *sender_->slots();
    std::error_code error;
    if (slots.is_over() && std::filesystem::exists(report, error)) found = Found::Finished;
    else if (slots.retire()) found = Found::None;
  }
  const bool mine = found == Found::None;
  if (mine) {
    run::SuccessorState saved_state(run_.configuration.output, run_.id);
    try {
      if (const auto saved = saved_state.read())
        count_unwritten(run_, policy_.own_analyses(), *saved);
      correct_heads(run_, policy_.own_analyses());
    } catch (const std::exception& e) {
      try {
        run_.warn(fmt::format("lost publications are counted roughly: {}", e.what()));
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the others wait
      }
    }
    saved_state.remove();
  }
  found = static_cast<Found>(run_.side.reduced(static_cast<int32_t>(found), comm::Operation::Max));
  // The first rank has counted for all.
  if (found == Found::None && !mine)
    for (size_t a = 0; a < policy_.own_analyses(); ++a) run_.accounts[a].lost = 0;
  return found;
}

}  // namespace pillion::simulation

// SPDX-License-Identifier: BSD-3-Clause
// The loop of a sidecar, and its analyses.
#include "sidecar/sidecar.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "comm/agreement.hpp"
#include "run/saved_state.hpp"
#include "run/sidecar_notices.hpp"

namespace pillion::sidecar {

using transport::Due;
using transport::MessageKind;
using transport::PublicationHeader;

namespace {

std::vector<bool> present(const run::Chains& chains) {
  std::vector<bool> present;
  for (const auto& chain : chains) present.push_back(chain != nullptr);
  return present;
}

}  // namespace

Sidecar::Sidecar(run::Run& run, run::Chains chains, policy::SidecarRole role)
    : run_(run),
      chains_(std::move(chains)),
      policy_(role, present(chains_)),
      messages_(run.side, policy_),
      last_(chains_.size()) {}

namespace {

policy::AgreedSidecarEvent event_of(const Message& message, const Messages& messages) {
  auto due = messages.analyses_in(message.header);
  switch (message.header.kind) {
    case MessageKind::Publication: return policy::PublicationAgreed{message.all, std::move(due)};
    case MessageKind::Checkpoint: return policy::CheckpointAgreed{};
    case MessageKind::Take: return policy::MigrationAgreed{std::move(due), true};
    case MessageKind::Give: return policy::MigrationAgreed{std::move(due), false};
    case MessageKind::End: break;
  }
  return policy::EndAgreed{};
}

}  // namespace

policy::SidecarEnding Sidecar::serve() {
  while (!policy_.ending()) {
    message_ = messages_.read();
    if (messages_.passes(message_)) {
      pass();
      continue;
    }
    messages_.agree(message_);
    began_ = base::monotonic_seconds();
    if (message_.all.no_message) {
      const auto& all = message_.all;
      apply(policy::NoMessageAgreed{all.leave_requested, all.evicted, all.gone});
      break;
    }
    take_units(message_.header);
    if (message_.header.kind == MessageKind::Publication)
      for (const auto& [a, due] : messages_.due_in(message_.header))
        last_[a] = {message_.header.step, message_.header.time, due};
    apply(event_of(message_, messages_));
  }
  return *policy_.ending();
}

// The other ranks need not be here: nothing in this is done together.
void Sidecar::pass() {
  began_ = base::monotonic_seconds();
  const auto due = messages_.analyses_in(message_.header);
  publications_ += due.empty() ? 0 : 1;
  for (const auto& action : policy_.pass(due)) (void)carry_out(action);
}

void Sidecar::apply(const policy::AgreedSidecarEvent& event) {
  for (const auto& action : policy_.on(event))
    if (const auto next = carry_out(action)) apply(*next);
}

Sidecar::Event Sidecar::carry_out(const policy::SidecarAction& action) {
  return std::visit(
      policy::Overloaded{
          [&](const policy::Receive&) { return receive(), Event(); },
          [&](const policy::Analyse& a) {
            auto next = analyse(a.analysis);
            take_in();
            return next;
          },
          [&](const policy::CountDropped& a) { return count_dropped(a), Event(); },
          [&](const policy::SaveCheckpoint&) { return save_checkpoint(), Event(); },
          [&](const policy::RestoreMigrated& a) { return restore_migrated(a.analysis); },
          [&](const policy::SaveForMigration& a) { return save_for_migration(a.analysis); },
          [&](const policy::FinishFailed& a) { return finish_failed(a.analysis), Event(); },
          [&](const policy::FinishAnalyses& a) { return finish_analyses(a.has_header), Event(); },
          [&](const policy::Acknowledge&) { return acknowledge(), Event(); },
          // The other actions are only given to a job of its own.
          [&](const auto&) { return job_actions_(action); }},
      action);
}

void Sidecar::take_units(const PublicationHeader& header) {
  run_.configuration.time_units = header.time_units;
  run_.scalars = header.scalars;
  for (const auto& [name, units] : header.units) {
    run_.configuration.catalogue.set_units(name, units);
    for (auto& chain : chains_)
      if (chain) chain->catalogue().set_units(name, units);
  }
}

void Sidecar::receive() {
  ++publications_;
  run_.mark.set(message_.header.step, message_.header.time);
  const run::Stopwatch watch;
  received_ = messages_.receive(message_, run_.configuration.catalogue);
  watch.end(run_.timeline, "receive", "receive", message_.header.step);
}

void Sidecar::count_dropped(const policy::CountDropped& dropped) {
  for (const size_t a : dropped.analyses) ++run_.accounts[a].dropped;
  if (dropped.whole && !std::exchange(is_dropping_, true))
    run_.warn(fmt::format(
        "the publication of step {} was dropped, and those after it as long as this stays so: some "
        "simulation rank had no room for it or could not make it",
        message_.header.step));
}

void Sidecar::report_progress() {
  run_.tell([&](run::Snapshot& snapshot) { snapshot.publications = publications_; });
}

// The simulation frees the memory of the message, so nothing here may point to it any more.
void Sidecar::acknowledge() {
  received_.clear();
  busy_ += base::monotonic_seconds() - began_;
  report_progress();
  if (produced_ && message_.header.kind == MessageKind::Publication)
    run::send_load_report(run_, busy_);
  std::set<int32_t> disabled;
  for (size_t a = 0; a < chains_.size(); ++a)
    if (!run_.enabled(a)) disabled.insert(static_cast<int32_t>(a));
  messages_.acknowledge(message_, disabled);
  message_.deliveries.clear();
}

namespace {

/// Blocks with only the arrays of one analysis: shared fields that it needs, and its own
/// "ANALYSIS/FIELD" under their plain names.
std::vector<model::Block> blocks_for(const std::vector<model::Block>& all,
                                     const std::set<std::string>& needed,
                                     const std::string& analysis) {
  std::vector<model::Block> out;
  for (const auto& block : all) {
    auto& own = out.emplace_back(block);
    own.arrays.clear();
    for (const auto& name : needed) {
      auto at = block.arrays.find(analysis + "/" + name);
      if (at == block.arrays.end()) at = block.arrays.find(name);
      if (at != block.arrays.end()) own.arrays[name] = at->second;
    }
  }
  return out;
}

/// The same of one mesh, without blocks that have nothing for the analysis.
layout::Received mesh_for(const layout::Received& all, const std::set<std::string>& needed,
                          const std::string& analysis) {
  layout::Received out(model::MeshBlocks{
      .blocks = blocks_for(all.blocks, needed, analysis), .keep = all.keep, .kind = all.kind});
  std::erase_if(out.blocks, [](const model::Block& block) { return block.arrays.empty(); });
  if (!all.in_layout) return out;
  auto& in_layout = out.in_layout.emplace(*all.in_layout);
  in_layout.blocks = blocks_for(all.in_layout->blocks, needed, analysis);
  for (const auto& name : needed)
    if (const auto at = in_layout.came.find(analysis + "/" + name); at != in_layout.came.end())
      in_layout.came[name] = at->second;
  return out;
}

}  // namespace

int64_t Sidecar::missing_here(size_t analysis) const {
  return run_.accounts[analysis].lost + run_.accounts[analysis].dropped;
}

run::Gaps Sidecar::gaps_of(size_t analysis, const Due& due) const {
  return {.skipped = due.skipped,
          .coarsened = due.coarsened,
          .lost = run_.earlier.of(analysis).missing() + missing_here(analysis) + due.lost};
}

Due Sidecar::due_of(size_t analysis) const {
  for (const auto& [a, due] : messages_.due_in(message_.header))
    if (a == analysis) return due;
  return {};
}

Sidecar::Event Sidecar::analyse(size_t a) {
  const auto& header = message_.header;
  is_dropping_ = false;
  stagehost::Publication publication{.step = header.step,
                                     .time = header.time,
                                     .coarsening = header.coarsening,
                                     .meshes = {},
                                     .domains = header.domains,
                                     .coordinates = header.coordinates};
  const auto needed = chains_[a]->needed();
  for (const auto& [name, mesh] : received_)
    publication.meshes[name] = mesh_for(mesh, needed, run_.configuration.analyses[a].name);
  const auto failure = run::run_chain(run_, *chains_[a], a, publication, gaps_of(a, due_of(a)),
                                      &run::CostCounters::sidecar_seconds);
  if (failure && failure->consequence == run::Consequence::Drop)
    return run_.drop(a, header.step, failure->error), Event();
  if (failure && failure->consequence == run::Consequence::Lose)
    return run_.lose(a, header.step, failure->error, failure->in_row), Event();
  if (failure) {
    run_.disable(a, failure->error);
    return policy::AnalysisFailed{a};
  }
  auto& account = run_.accounts[a];
  ++account.publications;
  account.last_step = header.step;
  account.last_lag = base::calendar_seconds() - header.published;
  account.lag_seconds += account.last_lag;
  account.longest_lag = std::max(account.longest_lag, account.last_lag);
  return {};
}

void Sidecar::take_in() {
  messages_.look();
  if (const auto why = messages_.take_warning(); !why.empty())
    run_.log.warn(
        "the thread of sidecar {} that takes messages in has failed: {}; they come in only "
        "between analyses now",
        run_.side.rank(), why);
}

void Sidecar::finish_failed(size_t a) {
  run::Gaps gaps = gaps_of(a, due_of(a));
  gaps.disabled = run_.disabled[a];
  run::finish_chain(run_, *chains_[a], a, message_.header.step, message_.header.time, gaps,
                    &run::CostCounters::sidecar_seconds);
}

std::string Sidecar::save(const std::string& path, bool durable) const {
  try {
    run::save_chains(run_, chains_, run::Half::Behind, path, durable);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

// What an attached job has counted is not the run's.
void Sidecar::save_checkpoint() {
  message_.failure = save(message_.header.path, true);
  if (!message_.failure.empty() || policy_.role() == policy::SidecarRole::AttachedJob) return;
  try {
    comm::together(run_.side, [&] {
      if (run_.side.rank() == 0) run::write_sidecars_part(run_, message_.header.path);
    });
  } catch (const std::exception& e) {
    message_.failure = e.what();
  }
}

Sidecar::Event Sidecar::restore_migrated(size_t a) {
  try {
    chains_[a] = run::restore_migrated(run_, a, *produced_, message_.header.path).chain;
    return policy::MigrationEnded{a, true};
  } catch (const Error& e) {
    run_.disable(a, e);
    return policy::AnalysisFailed{a};
  }
}

// The simulation looks for the saved state; without it the analysis stays here.
Sidecar::Event Sidecar::save_for_migration(size_t a) {
  try {
    run::save_for_migration(run_, *chains_[a], a, message_.header.path, missing_here(a));
    chains_[a].reset();
    return policy::MigrationEnded{a, false};
  } catch (const Error& e) {
    run_.warn(fmt::format("analysis '{}' cannot leave: {}", run_.configuration.analyses[a].name,
                          e.what()));
    message_.failure = e.what();
    return {};
  }
}

// Where the simulation is gone, what is known of an analysis is of its own last publication.
void Sidecar::finish_analyses(bool has_header) {
  if (!has_header) {
    for (size_t a = 0; a < chains_.size(); ++a)
      if (chains_[a] && run_.enabled(a))
        run::finish_chain(run_, *chains_[a], a, last_[a].step, last_[a].time,
                          gaps_of(a, last_[a].due), &run::CostCounters::sidecar_seconds);
    return;
  }
  const auto& header = message_.header;
  std::vector<run::Gaps> gaps(chains_.size());
  for (size_t a = 0; a < gaps.size(); ++a) gaps[a] = gaps_of(a, {});
  for (const auto& [a, due] : messages_.due_in(header)) {
    gaps[a] = gaps_of(a, due);
    if (due.unusable != 0) gaps[a].disabled = "it was disabled in the simulation";
  }
  run::finish_chains(run_, chains_, header.step, header.time, gaps,
                     &run::CostCounters::sidecar_seconds);
  for (const auto& delivery : message_.deliveries)
    summaries_.push_back(transport::decode_head(delivery.data, delivery.size).summary);
}

}  // namespace pillion::sidecar

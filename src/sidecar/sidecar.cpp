// SPDX-License-Identifier: BSD-3-Clause
// The loop of a sidecar.
#include "sidecar/sidecar.hpp"

#include <algorithm>

#include "comm/agreement.hpp"
#include "run/saved_state.hpp"
#include "run/sidecar_notices.hpp"

namespace pillion::sidecar {

using transport::Delivery;
using transport::Due;
using transport::MessageKind;
using transport::PublicationHeader;

Ending Sidecar::serve() {
  for (;;) {
    // The receiver asks only while it waits, which it never does where messages come fast.
    const bool called = call_ && call_();
    const auto deliveries = called ? std::nullopt : receiver_->next();
    const auto agreed = agree(deliveries);
    if (agreed.over) return agreed.left ? Ending::Left : Ending::Alone;
    const auto& head = agreed.head;
    receiver_->begin();
    const double begun = base::monotonic_seconds();
    take_units(head);
    std::string failure;
    switch (head.kind) {
      case MessageKind::Publication: work(agreed, *deliveries); break;
      case MessageKind::Checkpoint: failure = save(head.path, true); break;
      case MessageKind::End: finish(head, *deliveries); break;
      case MessageKind::Take: take(head); break;
      case MessageKind::Give: failure = give(head); break;
    }
    busy_ += base::monotonic_seconds() - begun;
    tell();
    if (produced_ && head.kind == MessageKind::Publication) run::send_load_report(run_, busy_);
    if (after_publication_) after_publication_(head);
    receiver_->finish(head.sequence, disabled(), failure);
    if (head.kind == MessageKind::End) return Ending::Closed;
  }
}

namespace {

/// What ranks reduce about a message: the places of those that are due follow.
enum Mark { over, left, dropped, schema_changed, scattered, first_due };
constexpr size_t most_due = 59;  // beyond that places are shared

size_t place_of(size_t due) { return Mark::first_due + due % most_due; }

}  // namespace

// The first sidecar that has a source tells the head; what a source lacks, everyone hears of.
Sidecar::Agreed Sidecar::agree(const std::optional<std::vector<Delivery>>& deliveries) const {
  std::array<int32_t, Mark::first_due + most_due> marks{};
  const int nobody = run_.side.size();
  int teller = deliveries && !deliveries->empty() ? run_.side.rank() : nobody;
  Agreed agreed;
  if (!deliveries) {
    marks[Mark::over] = 1;
    marks[Mark::left] = call_ && call_() ? 1 : 0;
  } else {
    for (const auto& delivery : *deliveries) {
      const auto& head = agreed.heads[delivery.source] =
          transport::decode_head(delivery.data, delivery.size);
      if (head.dropped) marks[Mark::dropped] = 1;
      if (head.schema_changed) marks[Mark::schema_changed] = 1;
      if (head.scattered) marks[Mark::scattered] = 1;
      for (size_t d = 0; d < head.due.size(); ++d)
        if (head.due[d].unusable != 0) marks[place_of(d)] = 1;
    }
  }
  run_.side.reduce(marks.data(), marks.size(), comm::Operation::Max);
  agreed.over = marks[Mark::over] != 0;
  agreed.left = marks[Mark::left] != 0;
  if (agreed.over) return agreed;
  teller = run_.side.reduced(teller, comm::Operation::Min);
  base::Bytes bytes;
  if (run_.side.rank() == teller) bytes = transport::head_of(deliveries->front());
  run_.side.broadcast(bytes, teller);
  agreed.head = transport::decode_head(bytes.data(), bytes.size());
  agreed.head.dropped = marks[Mark::dropped] != 0;
  agreed.head.schema_changed = marks[Mark::schema_changed] != 0;
  agreed.head.scattered = marks[Mark::scattered] != 0;
  for (size_t d = 0; d < agreed.head.due.size() && agreed.head.kind == MessageKind::Publication;
       ++d)
    agreed.head.due[d].unusable = marks[place_of(d)];
  return agreed;
}

void Sidecar::take_units(const PublicationHeader& head) {
  run_.configuration.time_units = head.time_units;
  for (const auto& [name, units] : head.units) {
    run_.configuration.catalogue.set_units(name, units);
    for (auto& chain : chains_)
      if (chain) chain->catalogue().set_units(name, units);
  }
}

bool Sidecar::is_mine(const Due& due) const {
  return due.analysis >= base_ && mine(due) < chains_.size();
}

void Sidecar::work(const Agreed& agreed, const Deliveries& deliveries) {
  const PublicationHeader& head = agreed.head;
  last_ = head;
  if (std::none_of(head.due.begin(), head.due.end(), [&](const Due& d) { return is_mine(d); }))
    return;
  ++publications_;
  run_.mark.set(head.step, head.time);
  const run::Stopwatch watch;
  const auto received = receive(agreed, deliveries);
  watch.end(run_.timeline, "receive", "receive", head.step);
  if (head.dropped) {
    for (const auto& due : head.due)
      if (is_mine(due)) ++run_.accounts[mine(due)].dropped;
    run_.warn(
        fmt::format("the publication of step {} was dropped: some simulation rank had no room "
                    "for it or could not make it",
                    head.step));
    return;
  }
  for (const auto& due : head.due) {
    if (is_mine(due)) work_on(due, head, received);
    receiver_->look();
  }
}

void Sidecar::tell() {
  run_.tell([&](run::Snapshot& snapshot) { snapshot.publications = publications_; });
}

transport::ReceivedMeshes Sidecar::receive(const Agreed& agreed, const Deliveries& deliveries) {
  transport::ReceivedMeshes received;
  if (!agreed.head.dropped)
    for (const auto& delivery : deliveries) {
      auto decoded = transport::decode(
          delivery.data, delivery.size, delivery.keep,
          [&](const transport::Lent& lent) { return receiver_->look(delivery.source, lent); });
      for (auto& [name, mesh] : decoded.meshes) {
        auto& all = received[name];
        all.kind = mesh.kind;
        std::move(mesh.blocks.begin(), mesh.blocks.end(), std::back_inserter(all.blocks));
        std::move(mesh.keep.begin(), mesh.keep.end(), std::back_inserter(all.keep));
      }
    }
  if (auto* direct = receiver_->direct()) {
    const auto& catalogue = run_.configuration.catalogue;
    const auto routes = run::routes_for(layout_requests_, agreed.head, catalogue);
    direct->receive(agreed.head, agreed.heads, routes, catalogue, received);
  }
  return received;
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

/// The same of one mesh, leaving out blocks of which the analysis has nothing.
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

run::Gaps Sidecar::gaps_of(const Due& due) const {
  const auto& account = run_.accounts[mine(due)];
  return {
      .skipped = due.skipped, .coarsened = due.coarsened, .lost = account.lost + account.dropped};
}

void Sidecar::work_on(const Due& due, const PublicationHeader& head,
                      const transport::ReceivedMeshes& received) {
  const size_t a = mine(due);
  auto& account = run_.accounts[a];
  if (!run_.enabled(a) || !chains_[a]) return;
  if (due.unusable != 0) {
    ++account.dropped;
    return;
  }
  stagehost::Publication publication{.step = head.step,
                                     .time = head.time,
                                     .coarsening = head.coarsening,
                                     .meshes = {},
                                     .domains = head.domains};
  const auto needed = chains_[a]->needed();
  const auto& analysis = run_.configuration.analyses[a].name;
  for (const auto& [name, mesh] : received)
    publication.meshes[name] = mesh_for(mesh, needed, analysis);
  if (const auto failure = run::run_chain(run_, *chains_[a], a, publication, gaps_of(due),
                                          &run::CostCounters::sidecar_seconds)) {
    run_.disable(a, *failure);
    run::Gaps gaps = gaps_of(due);
    gaps.disabled = run_.disabled[a];
    return run::finish_chain(run_, *chains_[a], a, head.step, head.time, gaps,
                             &run::CostCounters::sidecar_seconds);
  }
  ++account.publications;
  account.last_step = head.step;
  const double lag = base::calendar_seconds() - head.published;
  account.lag_seconds += lag;
  account.last_lag = lag;
  account.longest_lag = std::max(account.longest_lag, lag);
}

std::vector<size_t> Sidecar::due_here(const PublicationHeader& head) const {
  std::vector<size_t> out;
  if (head.kind != MessageKind::Publication) return out;
  for (const auto& due : head.due)
    if (is_mine(due)) out.push_back(mine(due));
  return out;
}

std::string Sidecar::save(const std::string& path, bool durable) const {
  try {
    comm::together(run_.side,
                   [&] { run::save_chains(run_, chains_, run::Half::Behind, path, durable); });
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

void Sidecar::take(const PublicationHeader& head) {
  for (const auto& due : head.due) {
    if (!is_mine(due) || !run_.enabled(mine(due))) continue;
    try {
      chains_[mine(due)] = run::restore_migrated(run_, mine(due), *produced_, head.path).chain;
    } catch (const Error& e) {
      run_.disable(mine(due), e);
    }
  }
}

// The simulation sees by what is there that it is whole; where it is not, the analysis stays.
std::string Sidecar::give(const PublicationHeader& head) {
  for (const auto& due : head.due) {
    const size_t a = is_mine(due) ? mine(due) : chains_.size();
    if (a == chains_.size() || !chains_[a] || !run_.enabled(a)) continue;
    try {
      run::save_for_migration(run_, *chains_[a], a, head.path, gaps_of(due).lost);
      chains_[a].reset();
    } catch (const Error& e) {
      run_.warn(fmt::format("analysis '{}' cannot leave: {}", run_.configuration.analyses[a].name,
                            e.what()));
      return e.what();
    }
  }
  return {};
}

void Sidecar::finish(const PublicationHeader& head, const std::vector<Delivery>& deliveries) {
  std::vector<run::Gaps> gaps(chains_.size());
  for (const auto& due : head.due) {
    if (!is_mine(due)) continue;
    gaps[mine(due)] = gaps_of(due);
    if (due.unusable != 0) gaps[mine(due)].disabled = "it was disabled in the simulation";
  }
  if (before_end_) before_end_();
  run::finish_chains(run_, chains_, head.step, head.time, gaps,
                     &run::CostCounters::sidecar_seconds);
  for (const auto& delivery : deliveries)
    statements_.push_back(transport::decode_head(delivery.data, delivery.size).statement);
}

void Sidecar::finish_alone() {
  std::vector<run::Gaps> gaps(chains_.size());
  for (size_t a = 0; a < gaps.size(); ++a)
    gaps[a].lost = run_.accounts[a].lost + run_.accounts[a].dropped;
  for (const auto& due : last_.due)
    if (is_mine(due)) gaps[mine(due)] = gaps_of(due);
  run::finish_chains(run_, chains_, last_.step, last_.time, gaps,
                     &run::CostCounters::sidecar_seconds);
}

std::set<int32_t> Sidecar::disabled() const {
  std::set<int32_t> out;
  for (size_t a = 0; a < chains_.size(); ++a)
    if (!run_.enabled(a)) out.insert(static_cast<int32_t>(a));
  return out;
}

}  // namespace pillion::sidecar

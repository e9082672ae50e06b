// SPDX-License-Identifier: BSD-3-Clause
// How a simulation rank publishes. The only place where it may wait for sidecars is await_room(),
// as the policy says.
#include <algorithm>

#include "base/text.hpp"
#include "model/coarsen.hpp"
#include "runtime/simulation_side.hpp"

namespace pillion::runtime {

using model::WhenFull;
using transport::Announcement;
using transport::Kind;
using transport::Meshes;

namespace {

/// Bytes of all arrays of a publication.
size_t bytes_of(const Meshes& meshes) {
  size_t bytes = 0;
  for (const auto& [name, mesh] : meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        bytes += model::size_of(array.type) * static_cast<size_t>(array.components) *
                 static_cast<size_t>(block.box.volume());
  return bytes;
}

/// Adds one array to the same block: stages number the boxes that they make as they like.
void add_array(model::MeshBlocks& mesh, const model::Block& like, const std::string& name,
               const model::Array& array) {
  auto at = std::find_if(mesh.blocks.begin(), mesh.blocks.end(), [&](const model::Block& b) {
    return b.number == like.number && b.box == like.box;
  });
  if (at == mesh.blocks.end()) {
    mesh.blocks.push_back({like.number, like.box, like.owned, {}});
    at = std::prev(mesh.blocks.end());
  }
  at->arrays[name] = array;
}

}  // namespace

size_t SimulationSide::size_for(const std::vector<size_t>& due) {
  Announcement head;
  head.domains = sharing_.domains();
  for (const size_t a : due) head.due.push_back({static_cast<int32_t>(a), 0, 0, 0});
  auto meshes = crossing(head, due, std::vector<stagehost::Publication>(chains_.size()));
  const auto shipment = ship(head, meshes);
  if (!shipment) return bytes_of(meshes);  // what is lent takes no room, so the head is left out
  shipment->lay_out(true);
  return transport::aligned(transport::Encoder(head, meshes).size()) + shipment->size();
}

// What goes straight to where it is wanted may take more than what is shared: there are ghost cells
// and copies, and not the same ones when several analyses are due as when one is.
void SimulationSide::check_budget() {
  if (!link_.sender) return;
  std::vector<size_t> all;
  for (size_t a = 0; a < own_analyses_; ++a)
    if (run_.configuration.analyses[a].in_sidecars()) all.push_back(a);
  size_t bytes = size_for(all);
  if (link_.network != nullptr)
    for (const size_t a : all) bytes = std::max(bytes, size_for({a}));
  const auto policy = run_.configuration.sidecars.when_full;
  const auto whole = std::find_if(all.begin(), all.end(), [&](size_t a) { return needs_whole(a); });
  const bool may_shrink =
      policy == WhenFull::Spill || (policy == WhenFull::Coarsen && whole == all.end());
  if (bytes <= link_.budget || may_shrink) return;
  const std::string because =
      policy != WhenFull::Coarsen
          ? ""
          : fmt::format(" and stage '{}' of analysis '{}' cannot use coarsened publications;",
                        crossing_[*whole].whole_for, run_.configuration.analyses[*whole].name);
  base::fail(ErrorCode::Configuration,
             "a publication of rank {} takes {}, more than its share of {} of 'sidecars: "
             "{{memory: {}}}';{} raise it",
             run_.side.rank(), base::format_bytes(static_cast<int64_t>(bytes)),
             base::format_bytes(static_cast<int64_t>(link_.budget)),
             base::format_bytes(run_.configuration.sidecars.memory), because);
}

Announcement SimulationSide::head_of(Kind kind, int64_t step, double time) {
  Announcement head;
  head.kind = kind;
  head.sequence = ++sequence_;
  head.step = step;
  head.time = time;
  head.published = base::calendar_seconds();
  head.time_units = run_.configuration.time_units;
  head.units = units_;
  return head;
}

// Particles are chosen by their id, where they have one, so that they are the same at every step.
void SimulationSide::add_ids(std::set<std::string>& fields) const {
  const auto& catalogue = run_.configuration.catalogue;
  const auto* id = catalogue.find_field("id");
  if (id == nullptr || !sharing_.has("id")) return;
  const bool wanted = std::any_of(fields.begin(), fields.end(), [&](const std::string& name) {
    return catalogue.field(name).mesh == id->mesh;
  });
  if (wanted) fields.insert("id");
}

Meshes SimulationSide::crossing(const Announcement& head, const std::vector<size_t>& due,
                                const std::vector<stagehost::Publication>& left) const {
  const auto& catalogue = run_.configuration.catalogue;
  std::set<std::string> shared;
  for (const size_t a : due)
    for (const auto& name : crossing_[a].fields)
      if (catalogue.find_field(name) != nullptr) shared.insert(name);
  if (head.coarsening > 0) add_ids(shared);
  Meshes meshes = sharing_.publication(shared, head.step, head.time).meshes;
  for (const size_t a : due)
    for (const auto& [mesh, blocks] : left[a].meshes)
      for (const auto& block : blocks.blocks)
        for (const auto& [field, array] : block.arrays)
          if (crossing_[a].fields.contains(field) && !shared.contains(field))
            add_array(meshes[mesh], block, run_.configuration.analyses[a].name + "/" + field,
                      array);
  return meshes;
}

Meshes SimulationSide::gather(Announcement& head, const std::vector<size_t>& due,
                              const std::vector<stagehost::Publication>& left) {
  try {
    return crossing(head, due, left);
  } catch (const Error& e) {
    std::vector<size_t> own;
    std::copy_if(due.begin(), due.end(), std::back_inserter(own),
                 [&](size_t a) { return a < own_analyses_; });
    if (own.size() == due.size()) throw;
    run_.log.warn("rank {} cannot give a guest what it needs at step {}: {}", run_.side.rank(),
                  head.step, e.what());
    for (auto& d : head.due) d.unusable = static_cast<size_t>(d.analysis) >= own_analyses_ ? 1 : 0;
    return crossing(head, own, left);
  }
}

Meshes SimulationSide::coarsened(Meshes meshes, int32_t level) const {
  if (level == 0) return meshes;
  Meshes out;
  for (const auto& [name, blocks] : meshes) {
    const auto& catalogue = run_.configuration.catalogue;
    const auto* key = catalogue.find_field("id");
    out[name] = model::coarsen(blocks, catalogue.mesh(name), level,
                               key != nullptr && key->mesh == name ? "id" : "");
  }
  return out;
}

// Whatever fails here, the other ranks wait for this one at the next meeting.
void SimulationSide::publish(const std::vector<size_t>& scheduled,
                             const std::vector<stagehost::Publication>& left, int64_t step,
                             double time) {
  contain(scheduled, [&] { publish_or_skip(scheduled, left, step, time); });
  part(consensus_.last().pace);
}

void SimulationSide::publish_or_skip(const std::vector<size_t>& scheduled,
                                     const std::vector<stagehost::Publication>& left, int64_t step,
                                     double time) {
  const Standing& before = meet();
  std::vector<size_t> due;
  // An attached job may have left, or sidecars may have disabled something, since these were due.
  for (const size_t a : scheduled)
    if (run_.enabled(a)) due.push_back(a);
  end_turn(before.disabled);
  behind_ = link_.sender->behind();
  const auto decision = decide(policy_for(due), before, claim_of(due, time));
  const auto left_out = take_left_out(due, decision);
  turns_.skipped(left_out);
  for (const size_t a : left_out) ++agenda_.memory(a).skipped, ++run_.accounts[a].skipped;
  if (due.empty()) {
    skipped_ += left_out.empty() ? 0 : 1;
  } else {
    turn_ = due;
    auto head = head_of(Kind::Publication, step, time);
    head.coarsening = decision.level;
    if (decision.level > 0)
      for (const size_t a : due) ++run_.accounts[a].coarsened;
    for (const size_t a : due)
      head.due.push_back(
          {static_cast<int32_t>(a), 0, agenda_.memory(a).skipped, run_.accounts[a].coarsened});
    try {
      send(head, prepare(head, due, left), due);
    } catch (const std::exception& e) {
      run_.log.warn("rank {} cannot publish step {}: {}", run_.side.rank(), step, e.what());
      send_dropped(head, due);
    }
  }
}

bool SimulationSide::needs_whole(size_t a) const { return !crossing_[a].whole_for.empty(); }

/// If no analysis can use a coarse publication, `coarsen` is `skip`.
WhenFull SimulationSide::policy_for(const std::vector<size_t>& due) const {
  const auto policy = run_.configuration.sidecars.when_full;
  const bool all_whole =
      std::all_of(due.begin(), due.end(), [&](size_t a) { return needs_whole(a); });
  return policy == WhenFull::Coarsen && all_whole ? WhenFull::Skip : policy;
}

/// Takes out of `due`, and returns, the analyses that this publication skips: all of them, or, if
/// it is coarse, the analyses that need whole ones.
std::vector<size_t> SimulationSide::take_left_out(std::vector<size_t>& due,
                                                  const Decision& decision) const {
  if (decision.skip) return std::exchange(due, {});
  if (decision.level == 0) return {};
  const auto kept =
      std::stable_partition(due.begin(), due.end(), [&](size_t a) { return !needs_whole(a); });
  std::vector<size_t> out(kept, due.end());
  due.erase(kept, due.end());
  return out;
}

void SimulationSide::end_turn(const std::set<int32_t>& disabled) {
  const auto last = std::exchange(turn_, {});
  if (std::exchange(turn_dropped_, false)) turns_.dropped(last);
  else turns_.served(last, sequence_);
  for (const int32_t a : disabled) turns_.pass(static_cast<size_t>(a));
  // It may have been disabled, or have come back, since it was published.
  for (const size_t a : last)
    if (!run_.enabled(a) || !is_there(a)) turns_.pass(a);
}

Claim SimulationSide::claim_of(const std::vector<size_t>& due, double time) const {
  const auto next = turns_.next();
  if (!next) return Claim::None;
  if (std::find(due.begin(), due.end(), *next) != due.end()) return Claim::Waits;
  const bool yields = turns_.yields(due, agenda_.steps_until_due(*next, time));
  return yields ? Claim::Yields : Claim::None;
}

void SimulationSide::count(const std::vector<size_t>& due, int64_t Account::*member) {
  for (const size_t a : due) ++(run_.accounts[a].*member);
}

Parcel& SimulationSide::prepare(Announcement& head, const std::vector<size_t>& due,
                                const std::vector<stagehost::Publication>& left) {
  const auto due_set = transport::due_set_of(head);
  const bool as_shared = head.coarsening == 0 && std::all_of(due.begin(), due.end(), [&](size_t a) {
                           return left[a].meshes.empty();
                         });
  if (as_shared)
    if (Parcel* parcel = parcels_.find(due_set, version())) return renewed(*parcel, head);
  head.domains = sharing_.domains();
  auto meshes = coarsened(gather(head, due, left), head.coarsening);
  if (!as_shared)
    if (Parcel* parcel = parcels_.find(due_set, version()); parcel && parcel->refill(meshes))
      return renewed(*parcel, head);
  auto noted = as_shared ? Meshes() : meshes;
  auto shipment = ship(head, meshes);
  if (shipment) declare(head, *shipment);
  const bool lasts = !shipment || shipment->is_lasting();
  auto parcel =
      std::make_unique<Parcel>(head, std::move(meshes), allocations_, std::move(shipment));
  for (const size_t a : due) parcel->add_share(run_.configuration.analyses[a], crossing_[a].fields);
  const bool for_all = std::all_of(head.due.begin(), head.due.end(),
                                   [](const transport::Due& d) { return d.unusable == 0; });
  if (!for_all || !lasts) return *(only_once_ = std::move(parcel));
  if (as_shared) parcel->link(sharing_);
  else parcel->note(std::move(noted));
  return parcels_.keep(due_set, version(), std::move(parcel));
}

Parcel& SimulationSide::renewed(Parcel& parcel, Announcement& head) const {
  if (parcel.shipment() != nullptr) declare(head, *parcel.shipment());
  parcel.renew(head, allocations_);
  return parcel;
}

int64_t SimulationSide::version() const {
  return sharing_.version() + (link_.network != nullptr ? link_.network->cuts_version() : 0);
}

std::unique_ptr<transport::Shipment> SimulationSide::ship(const Announcement& head,
                                                          Meshes& meshes) {
  if (link_.network == nullptr) return {};
  const auto& catalogue = run_.configuration.catalogue;
  const auto routes = routes_for(link_.wishes, head, catalogue);
  return std::make_unique<transport::Shipment>(
      meshes, head.coarsening,
      transport::Destination{.sidecars = link_.network->sidecars(),
                             .home = link_.network->home(),
                             .catalogue = &catalogue,
                             .routes = &routes,
                             .cuts = &link_.network->cuts(transport::due_set_of(head)),
                             .domains = &head.domains});
}

void SimulationSide::declare(Announcement& head, transport::Shipment& shipment) const {
  head.targets = shipment.sidecars();
  head.scattered = shipment.is_scattered();
  head.news = !told_.knows(transport::due_set_of(head), shipment.terms(), head.sequence);
  shipment.lay_out(head.news);
}

void SimulationSide::send(Announcement& head, Parcel& parcel, const std::vector<size_t>& due) {
  const auto& encoder = parcel.encoder();
  last_size_ = parcel.size() << head.coarsening;
  for (const size_t a : due) sizes_[a] = last_size_;
  std::byte* to = reserve(parcel.size(), due, head.step);
  if (to == nullptr) {
    parcel.release();
    return send_dropped(head, due);
  }
  const Stopwatch watch;
  parcel.encode(to, head.sequence,
                link_.node != nullptr ? base::Copy::Streaming : base::Copy::Plain);
  if (const auto* shipment = parcel.shipment()) {
    link_.network->commit(head.sequence, encoder.size(), shipment->pieces());
    told_.note(transport::due_set_of(head), shipment->terms(), head.sequence);
    direct_ += shipment->direct_bytes();
  } else {
    link_.sender->commit(head.sequence);
  }
  allocations_.lend(head.sequence - 1);
  parcel.release();
  note_outstanding(head.sequence, due);
  in_place_ += encoder.bytes_lent();
  const double seconds = watch.end(run_.timeline, "publish", "publish", head.step);
  for (size_t d = 0; d < due.size(); ++d) {
    auto& account = run_.accounts[due[d]];
    const int64_t bytes = parcel.shares()[d];
    ++account.publications;
    account.last_step = head.step;
    account.bytes += bytes;
    // The copy is shared by all that are due, in proportion to their bytes.
    const double copy = seconds * static_cast<double>(bytes) / static_cast<double>(parcel.size());
    account.copy_seconds += copy;
    account.simulation_seconds += copy;
  }
}

void SimulationSide::send_dropped(Announcement& head, const std::vector<size_t>& due) {
  allocations_.forget();
  dropped_ = true;
  count(due, &Account::dropped);
  head.dropped = true;
  head.news = head.scattered = false;
  head.targets.clear();
  head.units.clear();
  head.domains.clear();
  send_head(head);
}

std::byte* SimulationSide::reserve(size_t size, const std::vector<size_t>& due, int64_t step) {
  link_.sender->poll();
  std::byte* to = link_.sender->reserve(size);
  if (to != nullptr) return to;
  switch (run_.configuration.sidecars.when_full) {
    case WhenFull::Wait: return size <= link_.budget ? await_room(size, due, step) : nullptr;
    case WhenFull::Spill:
      to = link_.sender->reserve_spill(size);
      if (to != nullptr) count(due, &Account::spilled);
      return to;
    default: return nullptr;
  }
}

std::byte* SimulationSide::await_room(size_t size, const std::vector<size_t>& due, int64_t step) {
  constexpr std::chrono::milliseconds patience{20};
  const Stopwatch watch;
  const Waiting waiting(run_.mark);
  std::byte* to = nullptr;
  while (to == nullptr && !stalled_ && !loss_.heard()) {
    link_.sender->wait(patience);
    launcher_.tend();
    to = link_.sender->reserve(size);
    stalled_ = to == nullptr && watch.seconds() >= run_.configuration.sidecars.deadline;
  }
  const double seconds = watch.end(run_.timeline, "stall", "stall", step);
  stall_ += seconds;
  for (const size_t a : due)
    run_.accounts[a].stall_seconds += seconds / static_cast<double>(due.size());
  return to;
}

void SimulationSide::send_head(const Announcement& head) {
  const transport::Encoder encoder(head, {});
  std::byte* to = link_.sender->reserve_head(encoder.size());
  if (to == nullptr)
    base::fail(ErrorCode::State, "sidecars have not answered for so long that {} messages wait",
               link_.sender->behind());
  encoder.encode(to);
  link_.sender->commit(head.sequence);
}

}  // namespace pillion::runtime

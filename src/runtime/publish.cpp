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
size_t bytes_of(const stagehost::Publication& publication) {
  size_t bytes = 0;
  for (const auto& [name, mesh] : publication.meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        bytes += model::size_of(array.type) * static_cast<size_t>(array.components) *
                 static_cast<size_t>(block.box.volume());
  return bytes;
}

/// Adds one array to the block of the same number.
void add_array(model::MeshBlocks& mesh, const model::Block& like, const std::string& name,
               const model::Array& array) {
  auto at = std::find_if(mesh.blocks.begin(), mesh.blocks.end(),
                         [&](const model::Block& b) { return b.number == like.number; });
  if (at == mesh.blocks.end()) {
    mesh.blocks.push_back({like.number, like.box, like.owned, {}});
    at = std::prev(mesh.blocks.end());
  }
  at->arrays[name] = array;
}

}  // namespace

void SimulationSide::check_budget() const {
  if (!link_.sender) return;
  std::set<std::string> names;
  for (const auto& crossing : crossing_)
    for (const auto& name : crossing)
      if (run_.configuration.catalogue.find_field(name) != nullptr) names.insert(name);
  const size_t bytes = bytes_of(sharing_.publication(names, 0, 0));
  const auto policy = run_.configuration.sidecars.when_full;
  if (bytes > link_.budget && policy != WhenFull::Coarsen && policy != WhenFull::Spill)
    base::fail(ErrorCode::Configuration,
               "a publication of rank {} takes {}, more than its share of {} of 'sidecars: "
               "{{memory: {}}}'; raise it",
               run_.side.rank(), base::format_bytes(static_cast<int64_t>(bytes)),
               base::format_bytes(static_cast<int64_t>(link_.budget)),
               base::format_bytes(run_.configuration.sidecars.memory));
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
    for (const auto& name : crossing_[a])
      if (catalogue.find_field(name) != nullptr) shared.insert(name);
  if (head.coarsening > 0) add_ids(shared);
  Meshes meshes = sharing_.publication(shared, head.step, head.time).meshes;
  for (const size_t a : due)
    for (const auto& [mesh, blocks] : left[a].meshes)
      for (const auto& block : blocks.blocks)
        for (const auto& [field, array] : block.arrays)
          if (crossing_[a].contains(field) && !shared.contains(field))
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

void SimulationSide::publish(const std::vector<size_t>& scheduled,
                             const std::vector<stagehost::Publication>& left, int64_t step,
                             double time) {
  const Standing& before = meet();
  std::vector<size_t> due;
  for (const size_t a : scheduled)
    if (!before.disabled.contains(static_cast<int32_t>(a))) due.push_back(a);
  const auto decision = decide(run_.configuration.sidecars.when_full, before);
  const double pace = before.pace;
  if (decision.skip) {
    ++skipped_;
    for (const size_t a : due) ++agenda_.memory(a).skipped, ++run_.accounts[a].skipped;
  } else if (!due.empty()) {
    auto head = head_of(Kind::Publication, step, time);
    head.coarsening = decision.level;
    if (decision.level > 0)
      for (const size_t a : due) ++run_.accounts[a].coarsened;
    for (const size_t a : due)
      head.due.push_back(
          {static_cast<int32_t>(a), 0, agenda_.memory(a).skipped, run_.accounts[a].coarsened});
    try {
      send(head, prepare(head, due, left), due);
    } catch (const Error& e) {
      run_.log.warn("rank {} cannot publish step {}: {}", run_.side.rank(), step, e.what());
      send_dropped(head, due);
    }
  }
  part(pace);
}

void SimulationSide::count(const std::vector<size_t>& due, int64_t Account::*member) {
  for (const size_t a : due) ++(run_.accounts[a].*member);
}

Parcel& SimulationSide::prepare(Announcement& head, const std::vector<size_t>& due,
                                const std::vector<stagehost::Publication>& left) {
  const bool as_shared = head.coarsening == 0 && std::all_of(due.begin(), due.end(), [&](size_t a) {
                           return left[a].meshes.empty();
                         });
  if (as_shared)
    if (Parcel* parcel = parcels_.find(due, sharing_.version())) {
      parcel->renew(head, allocations_);
      return *parcel;
    }
  head.domains = sharing_.domains();
  auto meshes = coarsened(gather(head, due, left), head.coarsening);
  auto parcel = std::make_unique<Parcel>(head, std::move(meshes), allocations_);
  for (const size_t a : due) parcel->add_share(run_.configuration.analyses[a], crossing_[a]);
  const bool for_all = std::all_of(head.due.begin(), head.due.end(),
                                   [](const transport::Due& d) { return d.unusable == 0; });
  if (!as_shared || !for_all) return *(only_once_ = std::move(parcel));
  parcel->link(sharing_);
  return parcels_.keep(due, sharing_.version(), std::move(parcel));
}

void SimulationSide::send(Announcement& head, const Parcel& parcel,
                          const std::vector<size_t>& due) {
  const auto& encoder = parcel.encoder();
  last_size_ = encoder.size() << head.coarsening;
  std::byte* to = reserve(encoder.size(), due, head.step);
  if (to == nullptr) return send_dropped(head, due);
  const Stopwatch watch;
  encoder.encode(to, link_.node != nullptr ? base::Copy::Streaming : base::Copy::Plain);
  link_.sender->commit(head.sequence);
  allocations_.lend(head.sequence - 1);
  note_outstanding(head.sequence, due);
  in_place_ += encoder.bytes_lent();
  const double seconds = watch.end(run_.timeline, "publish", "publish", head.step);
  for (size_t d = 0; d < due.size(); ++d) {
    auto& account = run_.accounts[due[d]];
    const int64_t bytes = parcel.shares()[d];
    ++account.publications;
    account.bytes += bytes;
    // The copy is shared by all that are due, in proportion to their bytes.
    const double copy = seconds * static_cast<double>(bytes) / static_cast<double>(encoder.size());
    account.copy_seconds += copy;
    account.simulation_seconds += copy;
  }
}

void SimulationSide::send_dropped(Announcement& head, const std::vector<size_t>& due) {
  allocations_.forget();
  count(due, &Account::dropped);
  head.dropped = true;
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
  std::byte* to = nullptr;
  while (to == nullptr && !stalled_) {
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

// SPDX-License-Identifier: BSD-3-Clause
// How a simulation rank publishes, checkpoints and closes. The only places where it may wait for
// sidecars are reserve(), as the policy says, and the explicit checkpoint and close.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "runtime/checkpoint.hpp"
#include "runtime/simulation_side.hpp"

namespace pillion::runtime {

using transport::Announcement;
using transport::Kind;
using transport::Meshes;

namespace {

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

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
  if (!sender_) return;
  std::set<std::string> names;
  for (const auto& crossing : crossing_)
    for (const auto& name : crossing)
      if (run_.configuration.catalogue.find_field(name) != nullptr) names.insert(name);
  const size_t bytes = bytes_of(sharing_.publication(names, 0, 0));
  if (bytes > budget_)
    base::fail(ErrorCode::Configuration,
               "a publication of rank {} takes {}, more than its share of {} of 'sidecars: "
               "{{memory: {}}}'; raise it",
               run_.side.rank(), base::format_bytes(static_cast<int64_t>(bytes)),
               base::format_bytes(static_cast<int64_t>(budget_)),
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

Meshes SimulationSide::crossing(const std::vector<size_t>& due,
                                const std::vector<stagehost::Publication>& left, int64_t step,
                                double time) const {
  const auto& catalogue = run_.configuration.catalogue;
  std::set<std::string> shared;
  for (const size_t a : due)
    for (const auto& name : crossing_[a])
      if (catalogue.find_field(name) != nullptr) shared.insert(name);
  Meshes meshes = sharing_.publication(shared, step, time).meshes;
  for (const size_t a : due)
    for (const auto& [mesh, blocks] : left[a].meshes)
      for (const auto& block : blocks.blocks)
        for (const auto& [field, array] : block.arrays)
          if (crossing_[a].contains(field) && !shared.contains(field))
            add_array(meshes[mesh], block, run_.configuration.analyses[a].name + "/" + field,
                      array);
  return meshes;
}

void SimulationSide::publish(const std::vector<size_t>& scheduled,
                             const std::vector<stagehost::Publication>& left, int64_t step,
                             double time) {
  const Standing& before = consensus_.settle();
  std::vector<size_t> due;
  for (const size_t a : scheduled) {
    if (before.disabled.contains(static_cast<int32_t>(a)))
      run_.disabled[a] = "it was disabled in the sidecars";
    else due.push_back(a);
  }
  if (skip(run_.configuration.sidecars.when_full, before)) {
    ++skipped_;
    for (const size_t a : due) ++agenda_.memory(a).skipped, ++run_.accounts[a].skipped;
  } else if (!due.empty()) {
    auto head = head_of(Kind::Publication, step, time);
    head.domains = sharing_.domains();
    for (const size_t a : due)
      head.due.push_back({static_cast<int32_t>(a), agenda_.memory(a).skipped});
    try {
      const auto meshes = crossing(due, left, step, time);
      send(head, meshes, due);
    } catch (const Error& e) {
      run_.log.warn("rank {} cannot publish step {}: {}", run_.side.rank(), step, e.what());
      head.dropped = true;
      send_head(head);
    }
  }
  sender_->poll();
  consensus_.start({sender_->in_flight() + last_size_ > budget_, sender_->disabled()});
}

void SimulationSide::send(Announcement& head, const Meshes& meshes,
                          const std::vector<size_t>& due) {
  const transport::Encoder encoder(head, meshes);
  std::byte* to = reserve(encoder.size(), due, head.step);
  if (to == nullptr) {
    head.dropped = true;
    for (const size_t a : due) ++run_.accounts[a].dropped;
    send_head(head);
    return;
  }
  const Stopwatch watch;
  encoder.encode(to);
  sender_->commit(head.sequence);
  last_size_ = encoder.size();
  const double seconds = watch.end(run_.timeline, "publish", "publish", head.step);
  for (const size_t a : due) {
    auto& account = run_.accounts[a];
    ++account.publications;
    int64_t bytes = 0;
    for (const auto& [field, size] : encoder.bytes_of_fields())
      if (crossing_[a].contains(field) ||
          field.starts_with(run_.configuration.analyses[a].name + "/"))
        bytes += size;
    account.bytes += bytes;
    // The copy is shared by all that are due, in proportion to their bytes.
    const double copy = seconds * static_cast<double>(bytes) / static_cast<double>(encoder.size());
    account.copy_seconds += copy;
    account.simulation_seconds += copy;
  }
}

std::byte* SimulationSide::reserve(size_t size, const std::vector<size_t>& due, int64_t step) {
  sender_->poll();
  std::byte* to = sender_->reserve(size);
  if (to != nullptr || run_.configuration.sidecars.when_full == model::WhenFull::Skip ||
      size > budget_)
    return to;
  const Stopwatch watch;
  while (to == nullptr && watch.seconds() < run_.configuration.sidecars.deadline) {
    nap();
    sender_->poll();
    to = sender_->reserve(size);
  }
  const double seconds = watch.end(run_.timeline, "stall", "stall", step);
  stall_ += seconds;
  for (const size_t a : due)
    run_.accounts[a].stall_seconds += seconds / static_cast<double>(due.size());
  return to;
}

void SimulationSide::send_head(const Announcement& head) {
  const transport::Encoder encoder(head, {});
  encoder.encode(sender_->reserve_head(encoder.size()));
  sender_->commit(head.sequence);
}

void SimulationSide::await_sidecars() {
  while (sender_ && sender_->behind() > 0) {
    sender_->poll();
    if (sender_->behind() > 0) nap();
  }
}

std::vector<int64_t> SimulationSide::skips() const {
  std::vector<int64_t> out;
  for (size_t a = 0; a < chains_.size(); ++a) out.push_back(agenda_.memory(a).skipped);
  return out;
}

// Reductions under way end before anything that every rank does together.
void SimulationSide::settle_all() {
  (void)consensus_.settle();
  for (size_t a = 0; a < triggers_.size(); ++a)
    if (triggers_[a]) agenda_.memory(a).fired = triggers_[a]->settle(agenda_.memory(a).fired);
}

void SimulationSide::save_manifest(const std::filesystem::path& folder) const {
  Manifest manifest{.step = agenda_.last_step(), .time = time_, .analyses = {}};
  for (size_t a = 0; a < chains_.size(); ++a)
    if (run_.enabled(a)) manifest.analyses[run_.configuration.analyses[a].name] = agenda_.memory(a);
  products::write_whole(folder / manifest_name, format_manifest(manifest), true);
}

void SimulationSide::checkpoint(const std::filesystem::path& path) {
  const Stopwatch watch;
  const auto folder = products::aside(path);
  const bool root = run_.side.rank() == 0;
  settle_all();
  comm::together(run_.side, [&] {
    if (path.filename().empty())
      base::fail(ErrorCode::Argument, "'{}' cannot name a checkpoint", path.string());
    if (!root) return;
    products::discard_folder_aside(path);
    products::make_folder(folder);
  });
  comm::together(run_.side, [&] { save_chains(run_, chains_, folder); });
  if (sender_) {
    auto head = head_of(Kind::Checkpoint, agenda_.last_step(), time_);
    head.path = folder.string();
    send_head(head);
    await_sidecars();
  }
  comm::together(run_.side, [&] {
    if (sender_ && !sender_->failure().empty())
      throw Error(ErrorCode::File, "sidecars could not save their state: " + sender_->failure());
    if (!root) return;
    save_manifest(folder);
    products::put_folder_in_place(path);
  });
  watch.end(run_.timeline, "checkpoint", "checkpoint", agenda_.last_step());
}

void SimulationSide::close() {
  settle_all();
  finish_chains(run_, chains_, agenda_.last_step(), time_, skips(), &Account::simulation_seconds);
  if (!sender_) return;
  auto head = head_of(Kind::End, agenda_.last_step(), time_);
  for (size_t a = 0; a < chains_.size(); ++a)
    head.due.push_back({static_cast<int32_t>(a), agenda_.memory(a).skipped});
  send_head(head);
  await_sidecars();
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// The loop of a sidecar.
#include "runtime/sidecar_side.hpp"

#include "comm/agreement.hpp"

namespace pillion::runtime {

using transport::Announcement;
using transport::Delivery;
using transport::Kind;

void SidecarSide::serve() {
  for (;;) {
    const auto deliveries = receiver_->next();
    const auto head = agree_on_head(deliveries);
    take_units(head);
    std::string failure;
    switch (head.kind) {
      case Kind::Publication: work(head, deliveries); break;
      case Kind::Checkpoint: failure = save(head.path); break;
      case Kind::End: finish(head); break;
    }
    receiver_->finish(head.sequence, disabled(), failure);
    if (head.kind == Kind::End) return;
  }
}

// The first sidecar always has a source. Whoever was told that a rank dropped the publication tells
// everyone.
Announcement SidecarSide::agree_on_head(const std::vector<Delivery>& deliveries) const {
  int32_t dropped = 0;
  for (const auto& delivery : deliveries)
    if (transport::decode_head(delivery.data, delivery.size).dropped) dropped = 1;
  base::Bytes bytes;
  if (run_.side.rank() == 0)
    bytes.assign(deliveries.front().data, deliveries.front().data + deliveries.front().size);
  if (run_.side.rank() == 0) {
    // Only the head travels: its length stands before it.
    int64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.resize(sizeof length + static_cast<size_t>(length));
  }
  run_.side.broadcast(bytes, 0);
  auto head = transport::decode_head(bytes.data(), bytes.size());
  head.dropped = run_.side.reduced(dropped, comm::Operation::Max) != 0;
  return head;
}

void SidecarSide::take_units(const Announcement& head) {
  run_.configuration.time_units = head.time_units;
  for (const auto& [name, units] : head.units) {
    run_.configuration.catalogue.set_units(name, units);
    for (auto& chain : chains_)
      if (chain) chain->catalogue().set_units(name, units);
  }
}

void SidecarSide::work(const Announcement& head, const std::vector<Delivery>& deliveries) {
  if (head.dropped) {
    for (const auto& due : head.due) ++run_.accounts[static_cast<size_t>(due.analysis)].dropped;
    run_.warn(
        fmt::format("the publication of step {} was dropped: some simulation rank had no room "
                    "for it or could not make it",
                    head.step));
    return;
  }
  transport::Meshes meshes;
  for (const auto& delivery : deliveries) {
    auto decoded = transport::decode(delivery.data, delivery.size, delivery.keep);
    for (auto& [name, mesh] : decoded.meshes) {
      auto& all = meshes[name];
      std::move(mesh.blocks.begin(), mesh.blocks.end(), std::back_inserter(all.blocks));
      std::move(mesh.keep.begin(), mesh.keep.end(), std::back_inserter(all.keep));
    }
  }
  for (const auto& due : head.due) work_on(due, head, meshes);
}

namespace {

/// The blocks of one mesh with only the arrays of one analysis: shared fields that it needs, and
/// its own "ANALYSIS/FIELD" under their plain names.
model::MeshBlocks blocks_for(const model::MeshBlocks& all, const std::set<std::string>& needed,
                             const std::string& analysis) {
  model::MeshBlocks out{.blocks = {}, .keep = all.keep};
  for (const auto& block : all.blocks) {
    model::Block own{block.number, block.box, block.owned, {}};
    for (const auto& name : needed) {
      auto at = block.arrays.find(analysis + "/" + name);
      if (at == block.arrays.end()) at = block.arrays.find(name);
      if (at != block.arrays.end()) own.arrays[name] = at->second;
    }
    if (!own.arrays.empty()) out.blocks.push_back(std::move(own));
  }
  return out;
}

}  // namespace

void SidecarSide::work_on(const transport::Due& due, const Announcement& head,
                          const transport::Meshes& meshes) {
  const auto a = static_cast<size_t>(due.analysis);
  if (!run_.enabled(a) || !chains_[a]) return;
  stagehost::Publication publication{
      .step = head.step, .time = head.time, .meshes = {}, .domains = head.domains};
  const auto needed = chains_[a]->needed();
  for (const auto& [name, mesh] : meshes)
    publication.meshes[name] = blocks_for(mesh, needed, run_.configuration.analyses[a].name);
  run_chain(run_, *chains_[a], a, publication, due.skipped, &Account::sidecar_seconds);
  auto& account = run_.accounts[a];
  ++account.publications;
  const double lag = base::calendar_seconds() - head.published;
  account.lag_seconds += lag;
  account.longest_lag = std::max(account.longest_lag, lag);
}

std::string SidecarSide::save(const std::string& path) const {
  try {
    comm::together(run_.side, [&] { save_chains(run_, chains_, path); });
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

void SidecarSide::finish(const Announcement& head) {
  std::vector<int64_t> skipped(chains_.size());
  for (const auto& due : head.due) skipped[static_cast<size_t>(due.analysis)] = due.skipped;
  finish_chains(run_, chains_, head.step, head.time, skipped, &Account::sidecar_seconds);
}

std::set<int32_t> SidecarSide::disabled() const {
  std::set<int32_t> out;
  for (size_t a = 0; a < chains_.size(); ++a)
    if (!run_.enabled(a)) out.insert(static_cast<int32_t>(a));
  return out;
}

}  // namespace pillion::runtime

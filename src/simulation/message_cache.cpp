// SPDX-License-Identifier: BSD-3-Clause
// Making, keeping and renewing parcels.
#include "simulation/message_cache.hpp"

#include <algorithm>
#include <tuple>

#include "model/configuration.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

CachedMessage::CachedMessage(const transport::PublicationHeader& head, transport::Meshes meshes,
                             const transport::Lender& lender,
                             std::unique_ptr<redistribution::SendPlan> send_plan)
    : meshes_(std::move(meshes)),
      encoder_(head, meshes_, &lender),
      send_plan_(std::move(send_plan)) {}

size_t CachedMessage::size() const {
  if (!send_plan_ || send_plan_->size() == 0) return encoder_.size();
  return redistribution::aligned(encoder_.size()) + send_plan_->size();
}

void CachedMessage::encode(std::byte* to, int64_t sequence, base::Copy how) const {
  encoder_.encode(to, how);
  if (send_plan_) send_plan_->pack(to + redistribution::aligned(encoder_.size()), sequence);
}

void CachedMessage::add_share(const model::AnalysisSpec& analysis,
                              const std::set<std::string>& cut_fields) {
  auto& share = shares_.emplace_back(0);
  const auto add = [&](const std::map<std::string, int64_t>& bytes_of_fields) {
    for (const auto& [field, bytes] : bytes_of_fields)
      if (cut_fields.contains(field) || field.starts_with(analysis.name + "/")) share += bytes;
  };
  add(encoder_.bytes_of_fields());
  if (send_plan_) add(send_plan_->bytes_of_fields());
}

template <class Deed>
void CachedMessage::each_array(Deed&& deed) {
  for (auto* meshes : {&meshes_, send_plan_ ? &send_plan_->meshes() : nullptr}) {
    if (meshes == nullptr) continue;
    for (auto& [name, mesh] : *meshes)
      for (auto& block : mesh.blocks)
        for (auto& [field, array] : block.arrays) deed(name, block, field, array);
  }
}

void CachedMessage::link(const Sharing& sharing) {
  each_array([&](const std::string&, const model::Block& block, const std::string& field,
                 model::Array& array) {
    links_.push_back({&array, sharing.find(field, block.number())});
  });
}

namespace {

bool alike(const model::Block& a, const model::Block& b) {
  return a.id == b.id && a.level == b.level && a.box == b.box && a.owned == b.owned &&
         std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.type == y.second.type &&
                             x.second.components == y.second.components &&
                             x.second.strides == y.second.strides;
                    });
}

/// Whether only values differ, and where they are.
bool alike(const transport::Meshes& a, const transport::Meshes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const auto& of_x = x.second.blocks;
    const auto& of_y = y.second.blocks;
    return x.first == y.first &&
           std::equal(of_x.begin(), of_x.end(), of_y.begin(), of_y.end(),
                      [](const auto& p, const auto& q) { return alike(p, q); });
  });
}

}  // namespace

void CachedMessage::note(transport::Meshes meshes) {
  using Place = std::tuple<std::string, int64_t, std::array<int64_t, 3>, std::string>;
  std::map<Place, model::Array*> places;
  each_array([&](const std::string& mesh, const model::Block& block, const std::string& field,
                 model::Array& array) {
    places[{mesh, block.id, block.box.lo, field}] = &array;
  });
  noted_ = std::move(meshes);
  for (const auto& [name, mesh] : noted_)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        slots_.push_back(places.at({name, block.id, block.box.lo, field}));
}

bool CachedMessage::refill(transport::Meshes& meshes) {
  if (!alike(noted_, meshes)) return false;
  noted_ = std::move(meshes);
  auto slot = slots_.begin();
  for (const auto& [name, mesh] : noted_)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays) (*slot++)->data = array.data;
  return true;
}

void CachedMessage::release() {
  for (auto* meshes : {&meshes_, &noted_, send_plan_ ? &send_plan_->meshes() : nullptr})
    if (meshes != nullptr)
      for (auto& [name, mesh] : *meshes) mesh.keep.clear();
}

void CachedMessage::renew(const transport::PublicationHeader& head,
                          const transport::Lender& lender) {
  for (const auto& link : links_) link.array->data = link.shared->data;
  encoder_.renew(head, &lender);
}

CachedMessage* MessageCache::find(const transport::DueSet& due, int64_t version) {
  if (version != version_) return nullptr;
  const auto at = messages_.find(due);
  return at == messages_.end() ? nullptr : at->second.get();
}

// Which analyses are due together repeats itself; where it does not, nothing is gained by keeping.
CachedMessage& MessageCache::keep(const transport::DueSet& due, int64_t version,
                                  std::unique_ptr<CachedMessage> message) {
  constexpr size_t most = 16;
  if (version != version_ || messages_.size() >= most) messages_.clear();
  version_ = version;
  return *(messages_[due] = std::move(message));
}

}  // namespace pillion::simulation

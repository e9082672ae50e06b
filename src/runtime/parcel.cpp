// SPDX-License-Identifier: BSD-3-Clause
// Making, keeping and renewing parcels.
#include "runtime/parcel.hpp"

namespace pillion::runtime {

Parcel::Parcel(const transport::Announcement& head, transport::Meshes meshes,
               const transport::Lender& lender, std::unique_ptr<transport::Shipment> shipment)
    : meshes_(std::move(meshes)),
      encoder_(head, meshes_, &lender),
      shipment_(std::move(shipment)) {}

size_t Parcel::size() const {
  if (!shipment_ || shipment_->size() == 0) return encoder_.size();
  return transport::aligned(encoder_.size()) + shipment_->size();
}

void Parcel::encode(std::byte* to, int64_t sequence, base::Copy how) const {
  encoder_.encode(to, how);
  if (shipment_) shipment_->encode(to + transport::aligned(encoder_.size()), sequence);
}

void Parcel::add_share(const model::AnalysisSpec& analysis, const std::set<std::string>& crossing) {
  auto& share = shares_.emplace_back(0);
  const auto add = [&](const std::map<std::string, int64_t>& bytes_of_fields) {
    for (const auto& [field, bytes] : bytes_of_fields)
      if (crossing.contains(field) || field.starts_with(analysis.name + "/")) share += bytes;
  };
  add(encoder_.bytes_of_fields());
  if (shipment_) add(shipment_->bytes_of_fields());
}

void Parcel::link(const Sharing& sharing) {
  link(sharing, meshes_);
  if (shipment_) link(sharing, shipment_->meshes());
}

void Parcel::link(const Sharing& sharing, transport::Meshes& meshes) {
  for (auto& [name, mesh] : meshes)
    for (auto& block : mesh.blocks)
      for (auto& [field, array] : block.arrays)
        links_.push_back({&array, sharing.find(field, block.number)});
}

void Parcel::renew(const transport::Announcement& head, const transport::Lender& lender) {
  for (const auto& link : links_) link.array->data = link.shared->data;
  encoder_.renew(head, &lender);
}

Parcel* Parcels::find(const std::vector<size_t>& due, int64_t version) {
  if (version != version_) return nullptr;
  const auto at = parcels_.find(due);
  return at == parcels_.end() ? nullptr : at->second.get();
}

// Which analyses are due together repeats itself; where it does not, nothing is gained by keeping.
Parcel& Parcels::keep(const std::vector<size_t>& due, int64_t version,
                      std::unique_ptr<Parcel> parcel) {
  constexpr size_t most = 16;
  if (version != version_ || parcels_.size() >= most) parcels_.clear();
  version_ = version;
  return *(parcels_[due] = std::move(parcel));
}

}  // namespace pillion::runtime

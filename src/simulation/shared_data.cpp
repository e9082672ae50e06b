// SPDX-License-Identifier: BSD-3-Clause
// Buffers of blocks, from allocation to release.
#include "simulation/shared_data.hpp"

#include "base/text.hpp"

namespace pillion::simulation {

void* SharedData::allocate(const std::string& field, int32_t block, size_t size, int32_t buffers) {
  if (catalogue_.find_field(field) == nullptr)
    base::fail(ErrorCode::Argument, "the catalogue has no field '{}'{}", field,
               base::suggestion(field, catalogue_.field_names()));
  return allocations_.allocate(field, block, size, buffers);
}

void* SharedData::swap(const std::string& field, int32_t block) {
  if (sender_ != nullptr) allocations_.reclaim(sender_->released());
  const auto [before, now, size] = allocations_.swap(field, block);
  sharing_.move(field, block, before, size, now);
  return now;
}

void SharedData::unshare(const std::string& field, int32_t block) {
  sharing_.unshare(field, block);
  allocations_.free(field, block);
}

}  // namespace pillion::simulation

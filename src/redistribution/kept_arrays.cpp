// SPDX-License-Identifier: BSD-3-Clause
// Versions that were sent, and values that are kept.
#include "redistribution/kept_arrays.hpp"

#include <cstring>

#include "base/error.hpp"

namespace pillion::redistribution {

bool SentArrays::has(const std::string& field, int64_t block, int64_t version) const {
  const auto at = versions_.find({field, block});
  return at != versions_.end() && at->second == version;
}

void SentArrays::add(const std::string& field, int64_t block, int64_t version) {
  versions_[{field, block}] = version;
  in_message_[field].insert(block);
}

void SentArrays::end_message() {
  std::erase_if(versions_, [&](const auto& entry) {
    const auto& [field, block] = entry.first;
    const auto at = in_message_.find(field);
    return at != in_message_.end() && !at->second.contains(block);
  });
  in_message_.clear();
}

void KeptArrays::add(const std::string& field, int64_t block, int64_t version, const void* data,
                     size_t bytes) {
  in_message_[field].insert(block);
  auto& kept = arrays_[field][block];
  if (kept.version == version || (data == nullptr && bytes > 0)) return;  // find() tells of that
  std::shared_ptr<std::byte[]> values(new std::byte[bytes + 1]);
  if (bytes > 0) std::memcpy(values.get(), data, bytes);
  kept = {version, bytes, std::move(values)};
}

void KeptArrays::end_message() {
  for (const auto& [field, blocks] : in_message_)
    std::erase_if(arrays_[field], [&, &blocks = blocks](const auto& entry) {
      return !blocks.contains(entry.first);
    });
  in_message_.clear();
}

std::shared_ptr<const std::byte[]> KeptArrays::find(const std::string& field, int64_t block,
                                                    int64_t version, size_t bytes) const {
  const auto of_field = arrays_.find(field);
  if (of_field != arrays_.end()) {
    const auto at = of_field->second.find(block);
    if (at != of_field->second.end() && at->second.version == version && at->second.bytes == bytes)
      return at->second.values;
  }
  base::fail(ErrorCode::Internal,
             "a message leaves out version {} of '{}' in block {}, which is not kept", version,
             field, block);
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// Versions that were sent, and values that are kept.
#include "transport/kept_arrays.hpp"

#include <cstring>

namespace pillion::transport {

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

void KeptArrays::take(const Decoded& decoded) {
  std::map<std::string, std::set<int64_t>> in_message;
  for (const auto& [name, mesh] : decoded.meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays) {
        if (array.version == 0) continue;
        in_message[field].insert(block.id);
        auto& kept = arrays_[field][block.id];
        if (kept.version == array.version) continue;
        kept.version = array.version;
        kept.bytes = model::bytes_of(array, block.box);
        std::shared_ptr<std::byte[]> values(new std::byte[kept.bytes + 1]);
        if (kept.bytes > 0) std::memcpy(values.get(), array.data, kept.bytes);
        kept.values = std::move(values);
      }
  for (const auto& [field, blocks] : in_message)
    std::erase_if(arrays_[field], [&, &blocks = blocks](const auto& entry) {
      return !blocks.contains(entry.first);
    });
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

}  // namespace pillion::transport

// SPDX-License-Identifier: BSD-3-Clause
// Each format has a reader of its own.
#include "replay/read.hpp"

#include "replay/array.hpp"
#include "replay/hdf5.hpp"

namespace replay {

const pillion::idx::Reader& FieldReader::dataset(const std::string& path) {
  auto& reader = datasets_[path];
  if (!reader) reader = std::make_unique<pillion::idx::Reader>(path);
  return *reader;
}

int64_t FieldReader::read(const Stored& stored, const Arrangement& arrangement, const Part& part,
                          pillion_type type, std::byte* to) {
  if (part.count() == 0) return 0;
  std::vector<int64_t> extents;
  for (const auto& dimension : arrangement) extents.push_back(dimension.extent);
  switch (stored.format) {
    case Format::Idx: return read_idx(dataset(stored.path), stored, part, type, to);
    case Format::Raw: read_raw(raw_.of(stored.path), stored, part, type, to); break;
    case Format::Hdf5: read_hdf5(stored, part, type, to); break;
    case Format::Npy: read_array(stored, extents, part, type, to); break;
  }
  return part.count() * static_cast<int64_t>(size_of(*stored.number));
}

}  // namespace replay

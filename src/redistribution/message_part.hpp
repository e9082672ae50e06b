// SPDX-License-Identifier: BSD-3-Clause
// What transports must know of the messages of a publication. It is apart from message layouts
// because it compiles without MPI: the node transport is also built into programs without it, for
// ThreadSanitizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/block.hpp"

namespace pillion::redistribution {

using Meshes = std::map<std::string, model::MeshBlocks>;

/// Whose whole blocks are whose: where on a curve through space the part of each receiver begins,
/// but the first.
using Cuts = std::vector<uint64_t>;

/// Where the part of receiver `number` begins.
struct Cut {
  int64_t number = 0;
  uint64_t key = 0;
  bool operator==(const Cut&) const = default;
};
/// What a sender knows of all cuts, in ascending order: those around its own boxes.
using KnownCuts = std::vector<Cut>;
/// By mesh.
using MeshCuts = std::map<std::string, KnownCuts>;
/// Where boxes are on that curve, in ascending order, by mesh.
using MeshKeys = std::map<std::string, std::vector<uint64_t>>;

/// One message among several in the same memory.
struct MessagePart {
  int receiver = 0;
  size_t offset = 0;
  size_t size = 0;
};

constexpr size_t message_alignment = 64;
constexpr size_t aligned(size_t offset) {
  return (offset + message_alignment - 1) / message_alignment * message_alignment;
}

/// The beginning of a message. The message layout follows if its size is not 0, then, aligned, the
/// values.
struct MessageHead {
  int64_t sequence = 0;
  int64_t layout_size = 0;  ///< 0: as it was the last time that the same analyses were due
};

/// Where the values of a message begin.
inline size_t values_offset(size_t layout_size) {
  return aligned(sizeof(MessageHead) + layout_size);
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank sends to one sidecar besides a head: blocks as they are, parts of blocks
// that are parts of the sidecar's own, and particles that are dealt to it. The bill says what lies
// where in the message, and is sent only when it has changed.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "model/block.hpp"

namespace pillion::transport {

/// A field in a message.
struct Item {
  std::string name;
  model::ElementType type = model::ElementType::Float64;
  int32_t components = 1;

  [[nodiscard]] size_t bytes_per_cell() const {
    return model::size_of(type) * static_cast<size_t>(components);
  }
  friend bool operator==(const Item&, const Item&) = default;
};

/// A block as the simulation shares it.
struct WholeBlock {
  std::string mesh;
  int64_t id = 0;
  model::Box box;
  int64_t owned = 0;
  std::vector<Item> items;
};

/// Some fields of parts of the sidecar's boxes.
struct Parts {
  struct Part {
    int64_t to = 0;  ///< which of the sidecar's boxes
    model::Box region;
  };
  std::string mesh;
  std::vector<Item> items;
  std::vector<Part> parts;
};

struct Bill {
  std::vector<WholeBlock> blocks;
  std::vector<Parts> parts;
  std::vector<std::string> dealt;  ///< meshes of particles
};

base::Bytes bytes_of(const Bill& bill);
Bill read_bill(const base::Bytes& bytes);

/// The beginning of a message; the bill follows if its size is not 0, and then, aligned, what it
/// lists: every array of a block aligned, parts packed part by part, and dealt particles behind
/// their size.
struct BodyHead {
  int64_t sequence = 0;
  int64_t bill_size = 0;  ///< 0: as it was the last time that the same analyses were due
};

constexpr size_t body_alignment = 64;
constexpr size_t aligned(size_t offset) {
  return (offset + body_alignment - 1) / body_alignment * body_alignment;
}
/// Where the values begin.
inline size_t values_offset(size_t bill_size) { return aligned(sizeof(BodyHead) + bill_size); }

}  // namespace pillion::transport

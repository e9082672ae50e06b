// SPDX-License-Identifier: BSD-3-Clause
// Some cells of a block of an unstructured mesh, with the points, faces and values that belong to
// them, as a message and as a block made of one.
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "model/topology.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// Memory that `out` keeps, aligned for values of any type, as bytes in a message are not.
std::byte* new_memory(size_t bytes, model::MeshBlocks& out);

/// A topology of `cells` of another, in their order, with the points and faces that these use.
/// `points` receives, for each of its points, the number in the other.
base::Bytes subset_of(const model::Topology& whole, const std::vector<int64_t>& cells,
                      std::vector<int64_t>& points);

/// Puts `cells` and their points into a message. Returns the points, which are in the order of the
/// part, by their numbers in the block.
std::vector<int64_t> put_geometry(const model::Block& block, const std::string& mesh,
                                  const model::Topology& topology,
                                  const std::vector<int64_t>& cells, base::ByteWriter& out);
/// The block that the message describes. `out` keeps its memory.
model::Block take_geometry(base::ByteReader& in, const std::string& mesh, model::MeshBlocks& out);

/// Puts values at `items`, which are cells or points, into a message.
void put_array(const model::Array& array, const std::vector<int64_t>& items, base::ByteWriter& out);
model::Array take_array(base::ByteReader& in, bool at_points, model::MeshBlocks& out);

/// The same values at `items` without a message. `out` keeps their memory.
model::Array selected(const model::Array& array, const std::vector<int64_t>& items,
                      model::MeshBlocks& out);

}  // namespace pillion::stagehost

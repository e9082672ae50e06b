// SPDX-License-Identifier: BSD-3-Clause
// Boxes of any sizes given to owners so that each has about as many bytes, and neighbours in space
// stay together: the Z-order curve through the middles of the boxes is cut into as many pieces as
// there are owners. Each rank knows its own boxes only.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "model/block.hpp"
#include "redistribution/message_part.hpp"

namespace pillion::redistribution {

/// A box to give away.
struct Load {
  model::Box box;
  int64_t bytes = 0;
};

/// Cuts such that no owner gets more than its share and the largest box, unless boxes have the same
/// middle. The same on every rank, whichever rank has which box. As a rule three or four
/// reductions, and about as many words as there are owners, 2^15 at least. A failure of one rank is
/// thrown on all. [collective]
Cuts balance(const comm::Communicator& ranks, const std::vector<Load>& here,
             const model::Box& domain, int owners);

/// A box of a level in cells of the finest level of its mesh, so that all levels share one curve.
model::Box in_finest_cells(model::Box box, int32_t level, const model::Mesh& mesh);
/// All cells of the finest level.
model::Box finest_cells(const model::Mesh& mesh);

/// Where a box is on the curve.
uint64_t key_of(const model::Box& box, const model::Box& domain);

/// Whose piece a box with this key is in.
int owner_of(uint64_t key, const Cuts& cuts);

/// The cuts before and behind each of these keys.
KnownCuts cuts_around(const std::vector<uint64_t>& keys, const Cuts& cuts);

/// Whose piece of `owners` a key is in. Between cuts that are not neighbours, pieces are taken to
/// be equally long: no owner is wrong for a whole block, and loads stay about even.
int owner_of(uint64_t key, const KnownCuts& known, int owners);

}  // namespace pillion::redistribution

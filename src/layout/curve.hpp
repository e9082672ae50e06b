// SPDX-License-Identifier: BSD-3-Clause
// The Z-order (Morton) curve through a grid of tiles of any size: neighbours along it are
// neighbours in space. A tile's number along the curve and back, without a list of the tiles.
#pragma once

#include <array>
#include <cstdint>

namespace pillion::layout {

using Index3 = std::array<int64_t, 3>;

/// How many tiles of a grid come before `tile` on the curve.
int64_t number_on_curve(const Index3& tile, const Index3& grid);
/// The tile that comes after `number` others.
Index3 tile_on_curve(int64_t number, const Index3& grid);

}  // namespace pillion::layout

// SPDX-License-Identifier: BSD-3-Clause
// Putting together what peers have drawn: each of them gets all that belongs to some rows of the
// picture, keeps what is in front, and makes pixels of it.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <vector>

#include "../common/messages.hpp"
#include "canvas.hpp"
#include "volume.hpp"

namespace pillion::stages::image {

/// PixelRows [first, last) of the picture, in pixels.
struct PixelRows {
  int32_t first, last;
  [[nodiscard]] int32_t count() const { return last - first; }
};
inline PixelRows rows_of(int32_t peer, int32_t peers, int32_t height) {
  return {static_cast<int32_t>(int64_t{height} * peer / peers),
          static_cast<int32_t>(int64_t{height} * (peer + 1) / peers)};
}

/// Puts into this peer's rows what others have drawn there. [peers]
void keep_foremost(const stage::Step& step, const Frame& frame, Canvas& drawn);

/// Where rays end, for all of the picture. The nearer ray of a pixel has no length if its samples
/// are all about as far away. Of the canvas, this peer's rows are read. [peers]
std::vector<double> ray_ends(const stage::Step& step, const Frame& frame, const Canvas& drawn);

/// Sends pieces to the peers whose rows they are in; by ray, and in order along it. [peers]
std::vector<RaySegment> sorted_pieces(const stage::Step& step, const Frame& frame,
                                      const std::vector<RaySegment>& pieces);

/// Red, green and blue of this peer's pixels, volumes in front of surfaces of this and of nothing.
std::vector<uint8_t> pixels(const stage::Step& step, const Frame& frame, const Canvas& drawn,
                            const std::vector<RaySegment>& pieces, Colour background);

}  // namespace pillion::stages::image

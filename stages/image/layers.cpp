// SPDX-License-Identifier: BSD-3-Clause
// Which layer an entry of `draw` is.
#include "../common/options.hpp"
#include "layer.hpp"

namespace pillion::image {

std::unique_ptr<Layer> make_layer(const stage::Setup& setup, const stage::Value& entry,
                                  Sources& sources) {
  if (!entry.is_map() || entry.size() != 1)
    entry.fail("expected one of `slice: {…}`, `isosurface: {…}`, `volume: {…}` and `points: {…}`");
  const std::string kind = entry.key(0);
  const stage::Value map = entry[0];
  const bool is_known =
      kind == "slice" || kind == "isosurface" || kind == "volume" || kind == "points";
  if (!is_known) entry.fail("cannot draw '" + kind + "'; known: slice, isosurface, volume, points");
  if (!map.is_map()) entry.fail("expected a map behind `" + kind + ":`");
  if (kind == "slice") return make_slice(setup, map, sources);
  if (kind == "isosurface") return make_isosurface(setup, map, sources);
  if (kind == "volume") return make_volume(setup, map, sources);
  return make_points(setup, map, sources);
}

}  // namespace pillion::image

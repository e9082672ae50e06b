// SPDX-License-Identifier: BSD-3-Clause
// How a dataset is cut: into chunks, and into parts of whole planes of chunks, one for each file.
// Axes are in the order of files, the one that varies slowest first; particles have one axis.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pillion::stages {

using Cells = std::vector<int64_t>;

inline int64_t product(const Cells& cells) {
  int64_t out = 1;
  for (const auto n : cells) out *= n;
  return out;
}

/// The cells that one file has.
struct PartShape {
  int64_t first = 0;  ///< of its planes, among those of the whole
  Cells cells;
  Cells chunk;

  /// Number of the chunk in which a cell of the whole lies; the last axis varies fastest.
  [[nodiscard]] int64_t chunk_of(const Cells& cell) const {
    int64_t number = 0;
    for (size_t d = 0; d < cells.size(); ++d)
      number = number * ((cells[d] + chunk[d] - 1) / chunk[d]) +
               (cell[d] - (d == 0 ? first : 0)) / chunk[d];
    return number;
  }
  /// The first cell of a chunk, among those of this part.
  [[nodiscard]] Cells corner(int64_t number) const {
    Cells out(cells.size());
    for (size_t d = cells.size(); d-- > 0;) {
      const int64_t chunks = (cells[d] + chunk[d] - 1) / chunk[d];
      out[d] = number % chunks * chunk[d];
      number /= chunks;
    }
    return out;
  }
};

struct Chunking {
  Cells cells, chunk;
  Cells cuts;  ///< part p has the planes from cuts[p] to cuts[p + 1]

  /// `parts` files, or as many as there are planes of chunks.
  Chunking(Cells all, Cells sides, int64_t parts) : cells(std::move(all)), chunk(std::move(sides)) {
    for (size_t d = 0; d < cells.size(); ++d)
      chunk[d] = std::min(chunk[d], std::max<int64_t>(cells[d], 1));
    const int64_t planes = (cells[0] + chunk[0] - 1) / chunk[0];
    parts = std::clamp<int64_t>(parts, 1, std::max<int64_t>(planes, 1));
    for (int64_t p = 0; p <= parts; ++p)
      cuts.push_back(std::min(planes * p / parts * chunk[0], cells[0]));
  }

  [[nodiscard]] size_t parts() const { return cuts.size() - 1; }
  [[nodiscard]] size_t part_of(int64_t plane) const {
    return static_cast<size_t>(std::upper_bound(cuts.begin(), cuts.end() - 1, plane) -
                               cuts.begin()) -
           1;
  }
  [[nodiscard]] PartShape part(size_t p) const {
    PartShape out{cuts[p], cells, chunk};
    out.cells[0] = cuts[p + 1] - cuts[p];
    out.chunk[0] = std::min(chunk[0], std::max<int64_t>(out.cells[0], 1));
    return out;
  }
  [[nodiscard]] PartShape whole() const { return {0, cells, chunk}; }
};

}  // namespace pillion::stages

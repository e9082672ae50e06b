// SPDX-License-Identifier: BSD-3-Clause
// Boxes along a curve, and the exchange between slabs and boxes. Every rank knows all boxes and all
// slabs, so what is sent needs no description: both ends go through the boxes in the same order.
#include "boxes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace cosmology {
namespace {

/// Place on the Morton curve: the bits of the three numbers in turn.
uint64_t morton(const std::array<int64_t, 3>& place) {
  uint64_t code = 0;
  for (int bit = 0; bit < 21; ++bit)
    for (int axis = 0; axis < 3; ++axis)
      code |= (static_cast<uint64_t>(place[axis]) >> bit & 1) << (3 * bit + axis);
  return code;
}

std::vector<GridBox> along_curve(int64_t cells, int64_t side) {
  const int64_t per_axis = (cells + side - 1) / side;
  std::vector<std::array<int64_t, 3>> places;
  for (int64_t k = 0; k < per_axis; ++k)
    for (int64_t j = 0; j < per_axis; ++j)
      for (int64_t i = 0; i < per_axis; ++i) places.push_back({i, j, k});
  std::ranges::sort(places, {}, morton);
  std::vector<GridBox> boxes;
  for (const auto& place : places) {
    GridBox box{};
    for (int axis = 0; axis < 3; ++axis) {
      box.lo[axis] = place[axis] * side;
      box.hi[axis] = std::min(cells, box.lo[axis] + side);
    }
    boxes.push_back(box);
  }
  return boxes;
}

/// The planes that a box and a slab have in common; empty if first >= last.
struct Planes {
  Planes(const GridBox& box, int64_t slab_first, int64_t slab_last)
      : first(std::max(box.lo[2], slab_first)), last(std::min(box.hi[2], slab_last)) {}
  [[nodiscard]] int64_t count(const GridBox& box) const {
    return std::max<int64_t>(0, last - first) * box.extent(0) * box.extent(1);
  }
  int64_t first;
  int64_t last;
};

}  // namespace

Boxes::Boxes(const Slabs& slabs, int64_t side)
    : slabs_(slabs), all_(along_curve(slabs.cells, side)) {
  int ranks = 0;
  MPI_Comm_size(slabs.comm, &ranks);
  const auto number = static_cast<int64_t>(all_.size());
  for (int64_t i = 0; i < number; ++i) all_[i].owner = static_cast<int>(i * ranks / number);
  for (int rank = 0; rank < ranks; ++rank)
    most_ = std::max<size_t>(most_, std::ranges::count(all_, rank, &GridBox::owner));
  std::ranges::copy_if(all_, std::back_inserter(mine_),
                       [&](const GridBox& box) { return box.owner == slabs.rank; });
  first_plane_.assign(ranks + 1, static_cast<int>(slabs.cells));
  for (int64_t plane = slabs.cells - 1; plane >= 0; --plane)
    first_plane_[slabs.owner[plane]] = static_cast<int>(plane);
  for (int rank = ranks - 1; rank >= 0; --rank)  // a rank without planes ends where it begins
    first_plane_[rank] = std::min(first_plane_[rank], first_plane_[rank + 1]);
}

BoxField Boxes::field(int64_t components) const {
  BoxField field;
  for (const GridBox& box : mine_) field.emplace_back(box.count() * components);
  return field;
}

void Boxes::fill(const Mesh& mesh, BoxField& field, int64_t components, int64_t component) const {
  const size_t ranks = first_plane_.size() - 1;
  std::vector<int> sent(ranks, 0), received(ranks, 0);
  std::vector<double> out;
  for (size_t to = 0; to < ranks; ++to)
    for (const GridBox& box : all_) {
      if (box.owner != static_cast<int>(to)) continue;
      const Planes planes(box, slabs_.first, slabs_.first + slabs_.planes);
      sent[to] += static_cast<int>(planes.count(box));
      for (int64_t z = planes.first; z < planes.last; ++z)
        for (int64_t y = box.lo[1]; y < box.hi[1]; ++y)
          for (int64_t x = box.lo[0]; x < box.hi[0]; ++x)
            out.push_back(mesh.at(x, y, z - slabs_.first));
    }
  for (size_t from = 0; from < ranks; ++from)
    for (const GridBox& box : mine_)
      received[from] +=
          static_cast<int>(Planes(box, first_plane_[from], first_plane_[from + 1]).count(box));
  std::vector<double> in(std::accumulate(received.begin(), received.end(), size_t{0}));
  MPI_Alltoallv(out.data(), sent.data(), offsets(sent).data(), MPI_DOUBLE, in.data(),
                received.data(), offsets(received).data(), MPI_DOUBLE, slabs_.comm);

  const double* value = in.data();
  for (size_t from = 0; from < ranks; ++from)
    for (size_t b = 0; b < mine_.size(); ++b) {
      const GridBox& box = mine_[b];
      const Planes planes(box, first_plane_[from], first_plane_[from + 1]);
      const int64_t below = (planes.first - box.lo[2]) * box.extent(0) * box.extent(1);
      for (int64_t i = 0; i < planes.count(box); ++i)
        field[b][(below + i) * components + component] = *value++;
    }
}

}  // namespace cosmology

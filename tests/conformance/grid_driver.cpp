// SPDX-License-Identifier: BSD-3-Clause
// Plays fields on a uniform grid from a file, divided over the simulation's ranks in one of several
// ways: slabs along the last axis; uneven boxes inside padded arrays (uneven); many small boxes
// that change hands each frame (many); nothing on the first rank (empty).
#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <vector>

#include "driver.hpp"

namespace {

using namespace conformance;

using Index = std::array<int64_t, 3>;

struct Box {
  Index lo, hi;
  [[nodiscard]] int64_t size() const { return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]); }
};

/// Cuts a box in two again and again until there are so many, at random places.
void bisect(const Box& box, int64_t parts, uint64_t seed, std::vector<Box>& out) {
  if (parts == 1) return out.push_back(box);
  int axis = 0;
  for (int d = 1; d < 3; ++d)
    if (box.hi[d] - box.lo[d] > box.hi[axis] - box.lo[axis]) axis = d;
  const auto length = static_cast<uint64_t>(box.hi[axis] - box.lo[axis]);
  const auto cut = box.lo[axis] + static_cast<int64_t>(scatter(seed, parts, length) % (length + 1));
  Box left = box, right = box;
  left.hi[axis] = right.lo[axis] = cut;
  bisect(left, parts / 2, seed + 1, out);
  bisect(right, parts - parts / 2, seed + 2, out);
}

/// One part of a division along the last axis that has more than one cell; none if it is empty.
std::vector<Box> slab(const Index& cells, int part, int parts) {
  const int axis = cells[2] > 1 ? 2 : cells[1] > 1 ? 1 : 0;
  Box box{{0, 0, 0}, cells};
  box.lo[axis] = cells[axis] * part / parts;
  box.hi[axis] = cells[axis] * (part + 1) / parts;
  if (box.size() == 0) return {};
  return {box};
}

/// The boxes of this rank.
std::vector<Box> boxes_of(const Player& player, const Index& cells, int64_t number) {
  if (player.decomposition == "slabs") return slab(cells, player.rank, player.ranks);
  if (player.decomposition == "empty") {
    if (player.ranks == 1) return slab(cells, 0, 1);
    if (player.rank == 0) return {};
    return slab(cells, player.rank - 1, player.ranks - 1);
  }
  const bool many = player.decomposition == "many";
  const int64_t parts = many ? 5 * player.ranks + number % 3 : player.ranks;
  std::vector<Box> all, mine;
  bisect({{0, 0, 0}, cells}, parts, player.seed, all);
  for (size_t b = 0; b < all.size(); ++b) {
    const auto owner = many ? scatter(player.seed, static_cast<uint64_t>(number), b) : b;
    if (static_cast<int>(owner % static_cast<uint64_t>(player.ranks)) == player.rank &&
        all[b].size() > 0)
      mine.push_back(all[b]);
  }
  return mine;
}

/// A box of a field inside an array that is `pad` wider on every side, and how to stride through
/// it.
class Padded {
 public:
  Padded(const std::vector<char>& values, size_t element, int64_t components, const Index& cells,
         const Box& box, int64_t pad) {
    Index width;
    for (int d = 0; d < 3; ++d) width[d] = box.hi[d] - box.lo[d] + 2 * pad;
    strides_ = {components, components * width[0], components * width[0] * width[1], 1};
    const auto bytes = static_cast<size_t>(components) * element;
    // What lies in the padding must never be read as data.
    memory_.assign(bytes * static_cast<size_t>(width[0] * width[1] * width[2]), '\x7f');
    first_ = static_cast<size_t>((pad * width[1] + pad) * width[0] + pad) * bytes;
    const size_t row = static_cast<size_t>(box.hi[0] - box.lo[0]) * bytes;
    for (int64_t k = box.lo[2]; k < box.hi[2]; ++k)
      for (int64_t j = box.lo[1]; j < box.hi[1]; ++j) {
        const auto from = static_cast<size_t>((k * cells[1] + j) * cells[0] + box.lo[0]) * bytes;
        const auto to =
            static_cast<size_t>(((k - box.lo[2]) * width[1] + j - box.lo[1]) * width[0]);
        std::memcpy(memory_.data() + first_ + to * bytes, values.data() + from, row);
      }
  }
  [[nodiscard]] const void* data() const { return memory_.data() + first_; }
  /// One per axis of the mesh, then that of components.
  [[nodiscard]] std::vector<int64_t> strides(size_t axes) const {
    std::vector<int64_t> out(strides_.begin(),
                             strides_.begin() + static_cast<std::ptrdiff_t>(axes));
    out.push_back(strides_[3]);
    return out;
  }

 private:
  std::array<int64_t, 4> strides_{};
  size_t first_ = 0;
  std::vector<char> memory_;
};

class Shelf {
 public:
  explicit Shelf(const std::string& cells) {
    std::stringstream in(cells);
    for (std::string word; std::getline(in, word, ',');) cells_[axes_++] = std::stoll(word);
  }

  void share(const Player& player, const Frames& all, int64_t number) {
    const Frame& frame = all.frames[static_cast<size_t>(number)];
    const auto boxes = boxes_of(player, cells_, number);
    const int64_t pad = player.decomposition == "uneven" ? 2 : 0;
    std::vector<Padded> fresh;
    fresh.reserve(all.fields.size() * boxes.size());
    for (size_t f = 0; f < all.fields.size(); ++f) {
      const auto& field = all.fields[f];
      const size_t element = field.bytes() / static_cast<size_t>(field.components);
      for (size_t b = 0; b < boxes.size(); ++b) {
        fresh.emplace_back(frame.values[f], element, field.components, cells_, boxes[b],
                           axes_ == 3 ? pad : 0);
        share(player, field, static_cast<int32_t>(b), boxes[b], fresh.back());
      }
      for (size_t b = boxes.size(); b < blocks_; ++b)
        check(pillion_unshare(player.session, field.name.c_str(), static_cast<int32_t>(b)));
    }
    blocks_ = boxes.size();
    memory_ = std::move(fresh);
  }

 private:
  void share(const Player& player, const FrameField& field, int32_t block, const Box& box,
             const Padded& memory) const {
    if (player.decomposition == "uneven")
      check(pillion_share_box_strided(player.session, field.name.c_str(), block, box.lo.data(),
                                      box.hi.data(), memory.data(), field.type,
                                      memory.strides(axes_).data()));
    else
      check(pillion_share_box_typed(player.session, field.name.c_str(), block, box.lo.data(),
                                    box.hi.data(), memory.data(), field.type));
  }

  Index cells_ = {1, 1, 1};
  size_t axes_ = 0, blocks_ = 0;
  std::vector<Padded> memory_;
};

}  // namespace

int main(int argc, char** argv) {
  Shelf shelf(conformance::Arguments(argc, argv).text("cells"));
  return conformance::main_of(argc, argv,
                              [&](const Player& player, const Frames& all, int64_t number) {
                                shelf.share(player, all, number);
                              });
}

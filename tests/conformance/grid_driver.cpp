// SPDX-License-Identifier: BSD-3-Clause
// Plays fields on a uniform grid from a file, divided over the simulation's ranks in one of several
// ways: slabs along the last axis; uneven boxes inside padded arrays (uneven); many small boxes
// that change hands each frame (many); nothing on the first rank (empty).
#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <vector>

#include "apart.hpp"
#include "driver.hpp"
#include "memory.hpp"

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
  Padded(size_t element, int64_t components, const Box& box, int64_t pad)
      : box_(box), bytes_(static_cast<size_t>(components) * element) {
    for (int d = 0; d < 3; ++d) width_[d] = box.hi[d] - box.lo[d] + 2 * pad;
    strides_ = {components, components * width_[0], components * width_[0] * width_[1], 1};
    first_ = static_cast<size_t>((pad * width_[1] + pad) * width_[0] + pad) * bytes_;
  }
  [[nodiscard]] size_t size() const {
    return bytes_ * static_cast<size_t>(width_[0] * width_[1] * width_[2]);
  }
  /// Where the first value of the box is.
  [[nodiscard]] size_t first() const { return first_; }
  /// One per axis of the mesh, then that of components.
  [[nodiscard]] std::vector<int64_t> strides(size_t axes) const {
    std::vector<int64_t> out(strides_.begin(),
                             strides_.begin() + static_cast<std::ptrdiff_t>(axes));
    out.push_back(strides_[3]);
    return out;
  }
  void fill(const std::vector<char>& values, const Index& cells, char* memory) const {
    // What lies in the padding must never be read as data.
    std::memset(memory, '\x7f', size());
    const size_t row = static_cast<size_t>(box_.hi[0] - box_.lo[0]) * bytes_;
    for (int64_t k = box_.lo[2]; k < box_.hi[2]; ++k)
      for (int64_t j = box_.lo[1]; j < box_.hi[1]; ++j) {
        const auto from = static_cast<size_t>((k * cells[1] + j) * cells[0] + box_.lo[0]) * bytes_;
        const auto to =
            static_cast<size_t>(((k - box_.lo[2]) * width_[1] + j - box_.lo[1]) * width_[0]);
        std::memcpy(memory + first_ + to * bytes_, values.data() + from, row);
      }
  }

 private:
  Box box_;
  size_t bytes_;
  Index width_{};
  std::array<int64_t, 4> strides_{};
  size_t first_ = 0;
};

class Shelf {
 public:
  explicit Shelf(const Arguments& arguments)
      : apart_(arguments.integer("apart", 0)), memory_(arguments) {
    std::stringstream in(arguments.text("cells"));
    for (std::string word; std::getline(in, word, ',');) cells_[axes_++] = std::stoll(word);
  }

  void share(const Player& player, const Frames& all, int64_t number) {
    const Frame& frame = all.frames[static_cast<size_t>(number)];
    const auto boxes = boxes_of(player, cells_, number);
    for (size_t f = 0; f < all.fields.size(); ++f) {
      const auto& field = all.fields[f];
      for (size_t b = 0; b < boxes.size(); ++b)
        share(player, field, frame.values[f], static_cast<int32_t>(b), boxes[b]);
      for (size_t b = boxes.size(); b < blocks_; ++b)
        memory_.take_back(player, field.name, static_cast<int32_t>(b));
    }
    blocks_ = boxes.size();
    memory_.forget_old();
  }

 private:
  void share(const Player& player, const FrameField& field, const std::vector<char>& values,
             int32_t block, const Box& box) {
    const bool uneven = player.decomposition == "uneven";
    const size_t element = field.bytes() / static_cast<size_t>(field.components);
    const auto padded = [&](const Box& of) {
      return Padded(element, field.components, of, uneven && axes_ == 3 ? 2 : 0);
    };
    if (apart_ != 0 && field.components > 1) return share_apart(player, field, values, block, box);
    const Padded here = padded(box);
    char* memory =
        memory_.next(player, field.name, block, here.size(), padded({{0, 0, 0}, cells_}).size());
    here.fill(values, cells_, memory);
    if (uneven)
      check(pillion_share_box_strided(player.session, field.name.c_str(), block, box.lo.data(),
                                      box.hi.data(), memory + here.first(), field.type,
                                      here.strides(axes_).data()));
    else
      check(pillion_share_box_typed(player.session, field.name.c_str(), block, box.lo.data(),
                                    box.hi.data(), memory, field.type));
  }

  /// An array of one component with ghost cells around the box, for each component.
  void share_apart(const Player& player, const FrameField& field, const std::vector<char>& values,
                   int32_t block, const Box& box) {
    const auto components = static_cast<int32_t>(field.components);
    const size_t element = field.bytes() / static_cast<size_t>(components);
    const int64_t ghosts = axes_ == 3 ? 2 : 0;
    const Padded here(element, 1, box, ghosts), all(element, 1, {{0, 0, 0}, cells_}, ghosts);
    const Apart apart(apart_, components, here.size(), element);
    char* memory = memory_.next(player, field.name, block, apart.size(),
                                Apart(apart_, components, all.size(), element).size());
    std::memset(memory, '\x7f', apart.size());
    std::vector<char> of_component(values.size() / static_cast<size_t>(components));
    for (int32_t c = 0; c < components; ++c) {
      for (size_t i = 0; i * element < of_component.size(); ++i)
        std::memcpy(of_component.data() + i * element,
                    values.data() +
                        (i * static_cast<size_t>(components) + static_cast<size_t>(c)) * element,
                    element);
      here.fill(of_component, cells_, memory + apart.first(c));
    }
    const auto places = apart.places(memory, here.first());
    const auto strides = here.strides(axes_);
    const auto arrays = arrays_of(places, field.type, strides);
    check(pillion_share_box_components(player.session, field.name.c_str(), 0, block, box.lo.data(),
                                       box.hi.data(), &arrays));
  }

  Index cells_ = {1, 1, 1};
  size_t axes_ = 0, blocks_ = 0;
  int64_t apart_;
  Memory memory_;
};

}  // namespace

int main(int argc, char** argv) { return main_of<Shelf>(argc, argv); }

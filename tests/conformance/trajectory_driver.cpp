// SPDX-License-Identifier: BSD-3-Clause
// Plays a trajectory of particles from a file, or with --elements 1 of spectral elements, dealt out
// to the simulation's ranks in one of several ways: contiguous slabs; every particle at a random
// rank that changes each frame (migrate); all on the last rank (sparse); several blocks per rank
// whose number changes each frame (pieces).
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "apart.hpp"
#include "driver.hpp"
#include "memory.hpp"

namespace {

using namespace conformance;

using Indices = std::vector<int64_t>;

Indices range(int64_t from, int64_t to) {
  Indices out(static_cast<size_t>(to - from));
  std::iota(out.begin(), out.end(), from);
  return out;
}

Indices slab(int64_t count, int part, int parts) {
  return range(count * part / parts, count * (part + 1) / parts);
}

/// Which particles this rank shares, by block.
std::vector<Indices> dealt(const Player& player, int64_t count, int64_t number) {
  if (player.decomposition == "slabs") return {slab(count, player.rank, player.ranks)};
  if (player.decomposition == "sparse")
    return {player.rank + 1 == player.ranks ? range(0, count) : Indices{}};
  std::vector<Indices> out(
      player.decomposition == "pieces" ? static_cast<size_t>(1 + (number + player.rank) % 4) : 1);
  // Backwards, so that no order of ids is kept.
  for (int64_t i = count; i-- > 0;) {
    const auto draw = scatter(player.seed, static_cast<uint64_t>(number), static_cast<uint64_t>(i));
    if (static_cast<int>(draw % static_cast<uint64_t>(player.ranks)) != player.rank) continue;
    // The last of several blocks stays empty.
    const size_t blocks = out.size() > 1 ? out.size() - 1 : 1;
    out[draw / 1000 % blocks].push_back(i);
  }
  return out;
}

/// What this rank shares.
class Shelf {
 public:
  explicit Shelf(const Arguments& arguments)
      : elements_(arguments.integer("elements", 0) != 0),
        apart_(arguments.integer("apart", 0)),
        memory_(arguments) {}

  void share(const Player& player, const Frames& all, int64_t number) {
    const Frame& frame = all.frames[static_cast<size_t>(number)];
    if (!elements_) check(pillion_set_domain(player.session, "atoms", &frame.domain));
    const auto share_items =
        elements_ ? &pillion_share_elements_typed : &pillion_share_particles_typed;
    const auto blocks = dealt(player, frame.count, number);
    for (size_t f = 0; f < all.fields.size(); ++f) {
      const auto& field = all.fields[f];
      const int32_t components = apart_ != 0 ? components_of(player, field.name) : 1;
      for (size_t b = 0; b < blocks.size(); ++b) {
        if (components > 1) {
          share_apart(player, field, components, static_cast<int32_t>(b), blocks[b],
                      frame.values[f], most_of(all));
          continue;
        }
        char* to = memory_.next(player, field.name, static_cast<int32_t>(b),
                                blocks[b].size() * field.bytes(), most_of(all) * field.bytes());
        gather(frame.values[f], field.bytes(), blocks[b], to);
        check(share_items(player.session, field.name.c_str(), static_cast<int32_t>(b),
                          static_cast<int64_t>(blocks[b].size()), to, field.type));
      }
      for (size_t b = blocks.size(); b < blocks_; ++b)
        memory_.take_back(player, field.name, static_cast<int32_t>(b));
    }
    blocks_ = blocks.size();
    memory_.forget_old();
  }

 private:
  /// Each particle, or element, has a gap behind it in each array.
  void share_apart(const Player& player, const FrameField& field, int32_t components, int32_t block,
                   const Indices& which, const std::vector<char>& values, size_t most) {
    const size_t element = field.bytes() / static_cast<size_t>(field.components);
    const int64_t together = field.components / components;
    const auto bytes = static_cast<size_t>(together) * element;
    const std::vector<int64_t> strides{together + 1, 1};
    const size_t step = bytes + element;
    const Apart apart(apart_, components, which.size() * step, element);
    char* to = memory_.next(player, field.name, block, apart.size(),
                            Apart(apart_, components, most * step, element).size());
    std::memset(to, '\x7f', apart.size());
    for (int32_t c = 0; c < components; ++c)
      for (size_t i = 0; i < which.size(); ++i)
        std::memcpy(to + apart.first(c) + i * step,
                    values.data() + static_cast<size_t>(which[i]) * field.bytes() +
                        static_cast<size_t>(c) * bytes,
                    bytes);
    const auto places = apart.places(to);
    const auto arrays = arrays_of(places, field.type, strides);
    check(pillion_share_components(player.session, field.name.c_str(), block,
                                   static_cast<int64_t>(which.size()), &arrays));
  }
  static void gather(const std::vector<char>& values, size_t size, const Indices& which, char* to) {
    for (size_t i = 0; i < which.size(); ++i)
      std::memcpy(to + i * size, values.data() + static_cast<size_t>(which[i]) * size, size);
  }
  static size_t most_of(const Frames& all) {
    int64_t most = 0;
    for (const auto& frame : all.frames) most = std::max(most, frame.count);
    return static_cast<size_t>(most);
  }

  bool elements_;
  int64_t apart_;
  size_t blocks_ = 0;
  Memory memory_;
};

}  // namespace

int main(int argc, char** argv) { return main_of<Shelf>(argc, argv); }

// SPDX-License-Identifier: BSD-3-Clause
// Cuts are found by a search on all of them at once. The curve is divided into bins, whose bytes
// are summed over all ranks. The bin in which a cut lies is divided again, until it holds one box:
// that begins the next piece.
#include "redistribution/balance.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <set>

#include "comm/agreement.hpp"

namespace pillion::redistribution {

using model::Box;

namespace {

constexpr int bits_per_axis = 21, all_bits = 3 * bits_per_axis;
using Key = uint64_t;

}  // namespace

Box in_finest_cells(Box box, int32_t level, const model::Mesh& mesh) {
  for (auto l = static_cast<size_t>(level); l < mesh.ratios.size(); ++l)
    for (size_t d = 0; d < 3; ++d) {
      box.lo[d] *= mesh.ratios[l][d];
      box.hi[d] *= mesh.ratios[l][d];
    }
  return box;
}

Box finest_cells(const model::Mesh& mesh) {
  return {{0, 0, 0}, model::cells_of_level(mesh, mesh.levels() - 1)};
}

// Bits of the middle of a box, in units of the domain, taken in turns.
Key key_of(const Box& box, const Box& domain) {
  std::array<uint64_t, 3> middle{};
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const double at = 0.5 * static_cast<double>(box.lo[i] + box.hi[i] - 2 * domain.lo[i]) /
                      static_cast<double>(std::max<int64_t>(domain.extent(d), 1));
    middle[i] = static_cast<uint64_t>(std::clamp(at, 0.0, 1 - 1e-12) * (1 << bits_per_axis));
  }
  Key key = 0;
  for (int bit = bits_per_axis - 1; bit >= 0; --bit)
    for (int d = 2; d >= 0; --d) key = key << 1 | (middle[static_cast<size_t>(d)] >> bit & 1);
  return key;
}

namespace {

struct KeyedLoad {
  Key key;
  int64_t bytes;
};

/// A part of the curve, and what all ranks have there.
struct Bin {
  Key begin = 0;
  int bits = all_bits;    ///< 2^bits keys
  int64_t before = 0;     ///< bytes of boxes before it
  int64_t boxes = 2;      ///< of all ranks; not known for the whole curve, which is divided anyway
  size_t slot = no_slot;  ///< of the bins that are divided: which one it is

  static constexpr size_t no_slot = ~size_t{0};
};

/// Allocates all that it needs before the first reduction, where a failure can be agreed on.
class CutSearch {
 public:
  CutSearch(const std::vector<Load>& here, const Box& domain, int owners)
      : owners_(owners),
        cuts_(static_cast<size_t>(std::max(owners - 1, 0))),
        bins_(cuts_.size()),
        sums_(2 * std::max(cuts_.size() << bits_later(), size_t{1} << bits_first())) {
    for (const auto& load : here)
      if (load.bytes > 0) loads_.push_back({key_of(load.box, domain), load.bytes});
    std::sort(loads_.begin(), loads_.end(),
              [](const KeyedLoad& a, const KeyedLoad& b) { return a.key < b.key; });
  }

  Cuts find(const comm::Communicator& ranks) {
    if (cuts_.empty()) return {};
    divide(ranks, number_slots(), bits_first());
    for (size_t slots = number_slots(); slots > 0; slots = number_slots())
      divide(ranks, slots, bits_later());
    find_boxes(ranks);
    return std::move(cuts_);
  }

 private:
  // So that boxes of a usual mesh are apart after two divisions, and sums take a few MiB at most.
  [[nodiscard]] int bits_first() const { return std::clamp(8 + bits_of_owners(), 10, 15); }
  [[nodiscard]] int bits_later() const { return std::clamp(18 - bits_of_owners(), 3, 10); }
  [[nodiscard]] int bits_of_owners() const {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(owners_)));
  }
  /// Bytes that may be before a cut at most.
  [[nodiscard]] int64_t goal(size_t cut) const {
    const auto pieces = static_cast<int64_t>(cut) + 1;
    return total_ / owners_ * pieces + total_ % owners_ * pieces / owners_;
  }
  /// Calls function(load) for those of this rank in a bin.
  template <class Function>
  void each_in(const Bin& bin, Function&& function) const {
    const auto is_before = [](const KeyedLoad& load, Key key) { return load.key < key; };
    auto load = std::lower_bound(loads_.begin(), loads_.end(), bin.begin, is_before);
    for (; load != loads_.end() && (load->key - bin.begin) >> bin.bits == 0; ++load)
      function(*load);
  }
  size_t number_slots();
  void divide(const comm::Communicator& ranks, size_t slots, int most_bits);
  void choose(Bin& bin, size_t cut, int bits) const;
  void find_boxes(const comm::Communicator& ranks);

  int owners_;
  std::vector<KeyedLoad> loads_;  ///< along the curve
  Cuts cuts_;
  std::vector<Bin> bins_;      ///< in which cuts lie, by cut; those of two cuts are equal or apart
  std::vector<int64_t> sums_;  ///< bytes and boxes of each part of each bin that is divided
  int64_t total_ = 0;          ///< bytes of all ranks
};

/// Numbers the bins that must be divided; how many there are, the same on all ranks.
size_t CutSearch::number_slots() {
  size_t slots = 0;
  for (size_t c = 0; c < bins_.size(); ++c) {
    const bool is_known = c > 0 && bins_[c].begin == bins_[c - 1].begin;
    bins_[c].slot = bins_[c].boxes < 2 || bins_[c].bits == 0 ? Bin::no_slot
                    : is_known                               ? bins_[c - 1].slot
                                                             : slots++;
  }
  return slots;
}

void CutSearch::divide(const comm::Communicator& ranks, size_t slots, int most_bits) {
  // Bins that are still divided have been divided equally often.
  const auto first =
      std::find_if(bins_.begin(), bins_.end(), [](const Bin& b) { return b.slot == 0; });
  const int bits = std::min(most_bits, first->bits);
  const auto end = sums_.begin() + static_cast<std::ptrdiff_t>(slots << (bits + 1));
  std::fill(sums_.begin(), end, 0);
  size_t next = 0;
  for (const auto& bin : bins_) {
    if (bin.slot != next) continue;
    each_in(bin, [&](const KeyedLoad& load) {
      int64_t* part = &sums_[2 * ((next << bits) + ((load.key - bin.begin) >> (bin.bits - bits)))];
      part[0] += load.bytes;
      part[1] += 1;
    });
    ++next;
  }
  // All ranks have the same bins, so all have as many sums.
  ranks.reduce(sums_.data(), end - sums_.begin(), comm::Operation::Sum);
  if (first->bits == all_bits)
    for (auto sum = sums_.begin(); sum != end; sum += 2) total_ += *sum;
  for (size_t c = 0; c < bins_.size(); ++c)
    if (bins_[c].slot != Bin::no_slot) choose(bins_[c], c, bits);
}

/// The part of the bin in which the cut lies.
void CutSearch::choose(Bin& bin, size_t cut, int bits) const {
  const int64_t* sums = &sums_[bin.slot << (bits + 1)];
  bin.bits -= bits;
  const size_t last = (size_t{1} << bits) - 1;  // for a curve without any boxes
  size_t part = 0;
  for (; part < last && bin.before + sums[2 * part] <= goal(cut); ++part)
    bin.before += sums[2 * part];
  bin.begin += Key{part} << bin.bits;
  bin.boxes = sums[2 * part + 1];
}

/// Puts each cut at the box in its bin, which one rank knows.
void CutSearch::find_boxes(const comm::Communicator& ranks) {
  for (size_t c = 0; c < bins_.size(); ++c) {
    sums_[c] = static_cast<int64_t>(bins_[c].begin);
    each_in(bins_[c], [&](const KeyedLoad& load) { sums_[c] = static_cast<int64_t>(load.key); });
  }
  ranks.reduce(sums_.data(), static_cast<int64_t>(cuts_.size()), comm::Operation::Max);
  for (size_t c = 0; c < cuts_.size(); ++c) cuts_[c] = static_cast<Key>(sums_[c]);
}

}  // namespace

Cuts balance(const comm::Communicator& ranks, const std::vector<Load>& here, const Box& domain,
             int owners) {
  std::optional<CutSearch> search;
  comm::together(ranks, [&] { search.emplace(here, domain, owners); });
  return search->find(ranks);
}

int owner_of(Key key, const Cuts& cuts) {
  return static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), key) - cuts.begin());
}

KnownCuts cuts_around(const std::vector<Key>& keys, const Cuts& cuts) {
  std::set<int64_t> numbers;
  for (const Key key : keys) {
    const int64_t owner = owner_of(key, cuts);
    numbers.insert({owner, owner + 1});
  }
  KnownCuts known;
  for (const int64_t number : numbers)
    if (number > 0 && number <= static_cast<int64_t>(cuts.size()))
      known.push_back({number, cuts[static_cast<size_t>(number - 1)]});
  return known;
}

int owner_of(Key key, const KnownCuts& known, int owners) {
  const auto next = std::upper_bound(known.begin(), known.end(), key,
                                     [](Key k, const Cut& cut) { return k < cut.key; });
  const Cut from = next == known.begin() ? Cut{0, 0} : *std::prev(next);
  const Cut to = next == known.end() ? Cut{owners, Key{1} << all_bits} : *next;
  const auto pieces = static_cast<uint64_t>(to.number - from.number);
  const Key length = (to.key - from.key - 1) / pieces + 1;
  return static_cast<int>(from.number + static_cast<int64_t>((key - from.key) / length));
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// All cuts are found at once, by bisection along the curve.
#include "redistribution/balance.hpp"

#include <algorithm>

namespace pillion::redistribution {

using model::Box;

namespace {

constexpr int bits_per_axis = 21;
using Key = uint64_t;

/// Bits of the middle of a box, in units of the domain, taken in turns.
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

/// Boxes along the curve, and the bytes before each.
class Line {
 public:
  explicit Line(std::vector<std::pair<Key, int64_t>> loads) : loads_(std::move(loads)) {
    std::sort(loads_.begin(), loads_.end());
    for (const auto& [key, bytes] : loads_) sums_.push_back(sums_.back() + bytes);
  }
  [[nodiscard]] int64_t total() const { return sums_.back(); }
  [[nodiscard]] int64_t before(Key key) const {
    const auto at = std::lower_bound(loads_.begin(), loads_.end(), std::pair(key, int64_t{-1}));
    return sums_[static_cast<size_t>(at - loads_.begin())];
  }

 private:
  std::vector<std::pair<Key, int64_t>> loads_;
  std::vector<int64_t> sums_{0};
};

}  // namespace

Cuts balance(const comm::Communicator& ranks, const std::vector<Load>& here, const Box& domain,
             int owners) {
  std::vector<std::pair<Key, int64_t>> loads;
  for (const auto& load : here) loads.emplace_back(key_of(load.box, domain), load.bytes);
  const Line line(std::move(loads));
  const int64_t total = ranks.reduced(line.total(), comm::Operation::Sum);
  // A cut is the last key before which at most a given number of shares lie; it begins the next
  // piece.
  Cuts cuts(static_cast<size_t>(std::max(owners - 1, 0)), 0);
  std::vector<int64_t> before(cuts.size());
  for (int bit = 3 * bits_per_axis - 1; bit >= 0; --bit) {
    for (size_t c = 0; c < cuts.size(); ++c) before[c] = line.before(cuts[c] | Key{1} << bit);
    ranks.reduce(before.data(), static_cast<int64_t>(before.size()), comm::Operation::Sum);
    for (size_t c = 0; c < cuts.size(); ++c)
      if (before[c] <= total / owners * static_cast<int64_t>(c + 1) +
                           total % owners * static_cast<int64_t>(c + 1) / owners)
        cuts[c] |= Key{1} << bit;
  }
  return cuts;
}

int owner_of(const Box& box, const Box& domain, const Cuts& cuts) {
  const auto next = std::upper_bound(cuts.begin(), cuts.end(), key_of(box, domain));
  return static_cast<int>(next - cuts.begin());
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// Whether particles are the ones that had their ids before. Programs renumber particles when some
// are removed, or give an id to a new one; whatever follows particles by their ids then compares
// different ones. Ids alone do not tell, but motion does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tracks.hpp"

namespace pillion::stages {

/// What the ids that two publications have in common did in between, summed over particles.
struct Motion {
  int64_t common = 0, gone = 0;  ///< ids of both, and those of the earlier one alone
  double squares = 0;            ///< of changes
  double products = 0, now = 0, then = 0;
  double largest = 0;  ///< change
  int64_t beyond = 0;  ///< particles that changed by more than a limit

  [[nodiscard]] double rms() const {
    return common > 0 ? std::sqrt(squares / static_cast<double>(common)) : 0;
  }
  /// Of the vectors now and then; 1 if they are the same, near 0 if they have nothing in common.
  [[nodiscard]] double correlation() const {
    const double size = std::sqrt(now * then);
    return size > 0 ? products / size : 1;
  }
};

namespace detail {

template <class Use>
void for_each_common(const Track& now, const Track& then, Use&& use) {
  const auto &a = *now.keys, &b = *then.keys;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] < b[j]) ++i;
    else if (b[j] < a[i]) ++j;
    else use(i++, j++);
  }
}

inline double change_of(const Track& now, size_t i, const Track& then, size_t j) {
  double square = 0;
  for (size_t axis = 0; axis < 3; ++axis) {
    const double d = (*now.vectors)[axis][i] - (*then.vectors)[axis][j];
    square += d * d;
  }
  return std::sqrt(square);
}

}  // namespace detail

/// Of this peer's particles. A particle of several species counts in each.
inline Motion motion_of(std::span<const Track> now, std::span<const Track> then, double limit) {
  Motion out;
  for (size_t s = 0; s < std::min(now.size(), then.size()); ++s) {
    const int64_t before = out.common;
    detail::for_each_common(now[s], then[s], [&](size_t i, size_t j) {
      const double change = detail::change_of(now[s], i, then[s], j);
      ++out.common;
      out.squares += change * change;
      out.largest = std::max(out.largest, change);
      out.beyond += change > limit ? 1 : 0;
      for (size_t axis = 0; axis < 3; ++axis) {
        const double a = (*now[s].vectors)[axis][i], b = (*then[s].vectors)[axis][j];
        out.products += a * b, out.now += a * a, out.then += b * b;
      }
    });
    out.gone += static_cast<int64_t>(then[s].keys->size()) - (out.common - before);
  }
  return out;
}

/// The keys of particles that changed by more.
inline std::vector<int64_t> changed_beyond(double limit, std::span<const Track> now,
                                           std::span<const Track> then) {
  std::vector<int64_t> out;
  for (size_t s = 0; s < std::min(now.size(), then.size()); ++s)
    detail::for_each_common(now[s], then[s], [&](size_t i, size_t j) {
      if (detail::change_of(now[s], i, then[s], j) > limit) out.push_back((*now[s].keys)[i]);
    });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// A track without some keys, which ascend.
inline Track without(const Track& track, std::span<const int64_t> keys) {
  detail::Growing out;
  for (size_t i = 0; i < track.keys->size(); ++i) {
    const int64_t key = (*track.keys)[i];
    if (std::binary_search(keys.begin(), keys.end(), key)) continue;
    const auto& v = *track.vectors;
    out.add(key, v[0][i], v[1][i], v[2][i]);
  }
  return {std::make_shared<const std::vector<int64_t>>(std::move(out.keys)),
          std::make_shared<const Vectors>(std::move(out.vectors))};
}

enum class TrackOf { positions, velocities };

/// Judges by what was normal so far. What it has seen is the same on every peer if motions are.
class Continuity {
 public:
  explicit Continuity(TrackOf what) : what_(what) {}

  /// How far few particles move, if ids belong to the ones that had them a publication before,
  /// `interval` in time: several times as far, or as fast, as all of them have moved so far.
  [[nodiscard]] double limit(double interval) const {
    if (publications_ == 0 || what_ == TrackOf::velocities)
      return std::numeric_limits<double>::infinity();
    return 3 * std::max(rms_, speed_ * interval);
  }
  /// Whether they do; the motion was found with that limit. Positions: not many particles move
  /// beyond it. Velocities: they do not lose at once half of the least correlation that they had.
  [[nodiscard]] bool are_the_same(const Motion& motion, double interval) const {
    if (publications_ == 0 || motion.common < least_common) return true;
    if (what_ == TrackOf::positions) return 10 * motion.beyond <= motion.common;
    const double expected = correlation_ / 2;
    const double noise = 4 / std::sqrt(3 * static_cast<double>(motion.common));
    constexpr int64_t least_seen = 3;  // a system that begins to move changes fast
    return publications_ < least_seen || interval > 1.01 * longest_ ||
           expected < std::max(0.1, noise) || motion.correlation() >= expected;
  }
  /// How far one particle may move, if they are. Infinite while that is not known.
  [[nodiscard]] double reach(double interval, double spacing) const {
    if (publications_ == 0 || what_ == TrackOf::velocities)
      return std::numeric_limits<double>::infinity();
    return std::max(spacing / 2, 4 * std::max(largest_, largest_speed_ * interval));
  }
  void add(const Motion& motion, double interval) {
    if (motion.common == 0 || !(interval > 0)) return;
    ++publications_;
    rms_ = std::max(rms_, motion.rms());
    speed_ = std::max(speed_, motion.rms() / interval);
    largest_ = std::max(largest_, motion.largest);
    largest_speed_ = std::max(largest_speed_, motion.largest / interval);
    correlation_ = std::min(correlation_, motion.correlation());
    longest_ = std::max(longest_, interval);
  }

  [[nodiscard]] std::vector<double> saved() const {
    return {static_cast<double>(publications_),
            rms_,
            speed_,
            largest_,
            largest_speed_,
            correlation_,
            longest_};
  }
  void restore(const std::vector<double>& saved) {
    publications_ = static_cast<int64_t>(saved.at(0));
    rms_ = saved.at(1), speed_ = saved.at(2), largest_ = saved.at(3);
    largest_speed_ = saved.at(4), correlation_ = saved.at(5), longest_ = saved.at(6);
  }

 private:
  static constexpr int64_t least_common = 30;  ///< fewer show nothing of a whole

  TrackOf what_;
  int64_t publications_ = 0;
  double rms_ = 0, speed_ = 0, largest_ = 0, largest_speed_ = 0, correlation_ = 1, longest_ = 0;
};

}  // namespace pillion::stages

// SPDX-License-Identifier: BSD-3-Clause
// Time origins: the publications that later ones are compared with. Either the first one alone, or
// a new one every so many publications, of which the latest few are kept. Sampling is done on the
// particles that this rank owns; adding up over ranks is the caller's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "lags.hpp"
#include "tracks.hpp"

namespace pillion::stages {

/// Where the frame of reference is: subtracted from the vectors of a species.
using Centre = std::array<double, 3>;

struct Origin {
  int64_t step = 0;
  double time = 0;
  std::vector<Centre> centres;  ///< one per species
  Snapshot tracks;
  bool coarse = false;  ///< the tracks are those of a subsample
};

struct OriginSchedule {
  bool only_first = false;
  int64_t every = 1;  ///< publications
  int64_t keep = 1;
};

class Origins {
 public:
  explicit Origins(OriginSchedule schedule) : schedule_(schedule) {}

  /// Whether publication number `publication` (from 0) becomes an origin.
  [[nodiscard]] bool due(int64_t publication) const {
    return schedule_.only_first ? kept_.empty() : publication % schedule_.every == 0;
  }
  /// Keeps an origin; the oldest goes if they are too many.
  void add(Origin origin) {
    kept_.push_back(std::move(origin));
    if (!schedule_.only_first && static_cast<int64_t>(kept_.size()) > schedule_.keep)
      kept_.pop_front();
  }
  [[nodiscard]] const std::deque<Origin>& kept() const { return kept_; }
  [[nodiscard]] std::deque<Origin>& kept() { return kept_; }

 private:
  OriginSchedule schedule_;
  std::deque<Origin> kept_;
};

/// Adds up one species' terms of now and then, which have the same keys.
using Kernel = Moment (*)(const Vectors& now, const Vectors& then, const Centre& centre_now,
                          const Centre& centre_then);

/// Compares the track now with that of an origin. Equal keys are made one, so that the next
/// comparison is a comparison of pointers.
inline Moment sample(Kernel kernel, const Track& now, Track& then, const Centre& centre_now,
                     const Centre& centre_then) {
  if (now.keys != then.keys && *now.keys == *then.keys) then.keys = now.keys;
  if (now.keys == then.keys) return kernel(*now.vectors, *then.vectors, centre_now, centre_then);
  const auto [a, b] = matched(now, then);
  return kernel(a, b, centre_now, centre_then);
}

}  // namespace pillion::stages

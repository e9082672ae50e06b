// SPDX-License-Identifier: BSD-3-Clause
// Whether samples are evenly spaced: autocorrelation is a function of lags, so one that is missing
// must be noticed. The spacing is that of the first two samples: in steps, or, on a schedule that
// goes by time, in the schedule's intervals; a step may be longer than one interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pillion::stages::autocorrelation {

class Spacing {
 public:
  enum class Verdict {
    next,    ///< one spacing after the last sample, or the first
    gap,     ///< later, or out of step
    restart  ///< what was taken for the spacing was a gap: what came before is of no use
  };

  /// A sample of this step and time; `interval` is the schedule's, 0 if that counts steps.
  Verdict see(int64_t step, double time, double interval) {
    const auto verdict = seen_ == 0 ? Verdict::next : judge(step, time, interval);
    if (verdict == Verdict::restart) *this = {};
    else if (verdict == Verdict::next && seen_ > 0) {
      steps_ += step - last_step_;
      time_ += time - last_time_;
      ++neighbours_;
    }
    ++seen_;
    last_step_ = step;
    last_time_ = time;
    return verdict;
  }

  /// Samples that are missing, as far as that is known.
  [[nodiscard]] int64_t missing() const { return missing_; }
  /// Means over neighbours; 0 as long as there are none.
  [[nodiscard]] double steps() const { return mean(static_cast<double>(steps_)); }
  [[nodiscard]] double time() const { return mean(time_); }

  [[nodiscard]] std::vector<int64_t> integers() const {
    return {seen_, spacing_, missing_, last_step_, steps_, neighbours_};
  }
  [[nodiscard]] std::vector<double> reals() const { return {last_time_, time_}; }
  void restore(const std::vector<int64_t>& integers, const std::vector<double>& reals) {
    seen_ = integers.at(0);
    spacing_ = integers.at(1);
    missing_ = integers.at(2);
    last_step_ = integers.at(3);
    steps_ = integers.at(4);
    neighbours_ = integers.at(5);
    last_time_ = reals.at(0);
    time_ = reals.at(1);
  }

 private:
  Verdict judge(int64_t step, double time, double interval) {
    const int64_t distance =
        interval > 0 ? std::max<int64_t>(1, std::llround((time - last_time_) / interval))
                     : step - last_step_;
    if (spacing_ == 0) spacing_ = distance;
    if (distance < spacing_ && spacing_ % distance == 0) return Verdict::restart;
    const bool in_step = distance % spacing_ == 0;
    return late(in_step ? distance / spacing_ - 1 : std::max<int64_t>(1, distance / spacing_));
  }
  Verdict late(int64_t missing) {
    missing_ += std::max<int64_t>(0, missing);
    return missing > 0 ? Verdict::gap : Verdict::next;
  }
  [[nodiscard]] double mean(double sum) const {
    return neighbours_ > 0 ? sum / static_cast<double>(neighbours_) : 0;
  }

  int64_t seen_ = 0, spacing_ = 0, missing_ = 0, last_step_ = 0;
  int64_t steps_ = 0, neighbours_ = 0;  ///< between samples that follow one another
  double last_time_ = 0, time_ = 0;
};

}  // namespace pillion::stages::autocorrelation

// SPDX-License-Identifier: BSD-3-Clause
// Where an analysis that may run on either side should run next. Every rank asks it with the same
// numbers, so all come to the same answer; it sends nothing and looks at no clock. The measure is
// how long a run takes from one publication to the next if nothing is left out: in the simulation
// the steps and then the stages; with sidecars the steps and the copy, or what the sidecars take,
// if that is longer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace pillion::policy {

/// How one publication went: seconds, the most of all ranks. Those of sidecars are sums since the
/// run began.
struct Sample {
  double interval = 0;  ///< since the publication before
  double own = 0;       ///< the part of it for which the analysis kept the simulation
  double worked = 0;    ///< sidecars on this analysis
  double finished = 0;  ///< and how many publications of it that were
  double busy = 0;      ///< sidecars on everything
};

/// Some numbers as they came last. Of the last few the one in the middle counts: a hiccup is not a
/// trend. Of many it is the mean without the greatest: what comes again and again counts in full.
class Recent {
 public:
  static constexpr size_t few = 3, many = 64;
  void add(double value);
  void clear() { values_.clear(); }
  [[nodiscard]] size_t size() const { return values_.size(); }
  [[nodiscard]] double middle_of_few() const;
  [[nodiscard]] double least_of_few() const;
  [[nodiscard]] double mean_of_many() const;

 private:
  [[nodiscard]] std::deque<double>::const_iterator few_begin() const;
  std::deque<double> values_;
};

class PlacementPolicy {
 public:
  /// Takes note of a publication. Says why the analysis should move, "" if it should stay.
  std::string note(const Sample& sample);
  /// It has moved, which took the simulation `seconds`.
  void moved(double seconds);
  [[nodiscard]] bool is_there() const { return there_; }

 private:
  /// Where it is, and what to expect at the other place if anything is known of that.
  struct Costs {
    double here = 0;   ///< seconds per publication
    double least = 0;  ///< what no place could do better than
    std::optional<double> elsewhere{};

    [[nodiscard]] double gain() const { return here - elsewhere.value_or(least); }
  };
  using Average = double (Recent::*)() const;
  /// Seconds that may have been lost by staying, publication after publication.
  struct Regret {
    double seconds = 0;
    int64_t in_a_row = 0;
  };
  void take(const Sample& sample);
  void learn();
  [[nodiscard]] bool knows() const;
  [[nodiscard]] Costs costs(Average average) const;
  [[nodiscard]] bool has_shifted() const;
  std::string judge();
  /// Whether it has been so for `lasting` publications, and has cost more than a move.
  bool regrets(Regret& regret, const Costs& costs, int64_t lasting) const;
  [[nodiscard]] std::string reason(const Costs& costs) const;
  /// Whether it is time to look again at a place that may not be what it was.
  bool doubts(const Costs& costs);

  bool there_ = false;
  int64_t samples_ = 0;         ///< since it has moved
  std::optional<Sample> from_;  ///< the sums when measuring began
  Sample last_;
  Recent rest_, own_, work_, others_;
  std::optional<double> ratio_;  ///< work in the simulation to that in sidecars
  std::optional<double> left_;   ///< the work, as it was last where it came from
  double copy_ = 0;              ///< what handing over takes the simulation
  double learned_at_ = 0;        ///< work in the simulation when the ratio was learned
  double toll_ = 0;              ///< seconds of the last move
  Regret now_, all_along_;
  double doubt_ = 0;  ///< seconds by which it was above the least
};

}  // namespace pillion::policy

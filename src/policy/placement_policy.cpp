// SPDX-License-Identifier: BSD-3-Clause
// When to move. As with the rent of skis, what staying has cost must exceed what moving costs; so
// moves never cost much more than they save, whatever comes.
#include "policy/placement_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace pillion::policy {
namespace {

constexpr size_t enough = 2;         ///< publications that allow a statement
constexpr double worthwhile = 0.05;  ///< gain that matters, of what a publication takes
constexpr int64_t lasting = 2;       ///< publications for which it must have been so
constexpr double shifted = 3;        ///< factor by which work must change for a ratio to be doubted
constexpr double considerable = 0.2;
constexpr double patience = 10;

}  // namespace

void Recent::add(double value) {
  values_.push_back(value);
  if (values_.size() > many) values_.pop_front();
}

std::deque<double>::const_iterator Recent::few_begin() const {
  return values_.end() - static_cast<ptrdiff_t>(std::min(few, values_.size()));
}

// Of two in the middle the smaller: what disturbs makes times longer.
double Recent::middle_of_few() const {
  std::vector<double> sorted(few_begin(), values_.end());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double Recent::least_of_few() const { return *std::min_element(few_begin(), values_.end()); }

double Recent::mean_of_many() const {
  if (values_.size() < 2) return values_.front();
  const double greatest = *std::max_element(values_.begin(), values_.end());
  const double sum = std::accumulate(values_.begin(), values_.end(), 0.0);
  return (sum - greatest) / static_cast<double>(values_.size() - 1);
}

std::string PlacementPolicy::note(const Sample& sample) {
  // The first publication at a place loads, plans and allocates.
  const bool counts = samples_++ > 0;
  if (counts) take(sample);
  last_ = sample;
  if (!counts || !knows()) return {};
  learn();
  return judge();
}

void PlacementPolicy::take(const Sample& sample) {
  rest_.add(std::max(0.0, sample.interval - sample.own));
  own_.add(sample.own);
  if (!there_) {
    work_.add(sample.own);
    others_.add(sample.busy - last_.busy);
    return;
  }
  others_.add((sample.busy - last_.busy) - (sample.worked - last_.worked));
  const double done = sample.finished - last_.finished;
  if (done <= 0) return;
  // The same of sidecars: the first that they finish is left out.
  if (from_) work_.add((sample.worked - last_.worked) / done);
  from_ = sample;
}

bool PlacementPolicy::knows() const { return own_.size() >= enough && work_.size() >= enough; }

// What was measured shortly before and shortly after a move belongs together.
void PlacementPolicy::learn() {
  if (there_) copy_ = own_.least_of_few();
  if (!left_) return;
  const double now = work_.middle_of_few();
  const double here = there_ ? *left_ : now, there = there_ ? now : *left_;
  if (there > 0) ratio_ = here / there;
  learned_at_ = here;
  left_.reset();
}

PlacementPolicy::Costs PlacementPolicy::costs(Average average) const {
  const double rest = (rest_.*average)(), work = (work_.*average)();
  const double others = std::max(0.0, (others_.*average)());
  Costs costs{.here = rest + work, .least = rest};
  if (there_) {
    costs.here = std::max(rest + copy_, work + others);
    if (ratio_) costs.elsewhere = rest + work * *ratio_;
  } else if (ratio_) {
    costs.elsewhere = std::max(rest + copy_, work / *ratio_ + others);
  }
  return costs;
}

bool PlacementPolicy::has_shifted() const {
  if (!ratio_) return false;
  const double now = work_.middle_of_few() * (there_ ? *ratio_ : 1);
  return now > shifted * learned_at_ || now * shifted < learned_at_;
}

// What comes now and then, as writing products does, shows in the mean of many only; but that
// speaks of what was, so it must have said the same until all of it is of the time since.
std::string PlacementPolicy::judge() {
  const Costs now = costs(&Recent::middle_of_few), all_along = costs(&Recent::mean_of_many);
  if (regrets(now_, now, lasting)) return reason(now);
  if (regrets(all_along_, all_along, Recent::many)) return reason(all_along);
  if (doubts(now)) return reason({.here = now.here, .least = now.least});
  return {};
}

bool PlacementPolicy::regrets(Regret& regret, const Costs& costs, int64_t lasting_for) const {
  if (costs.gain() <= worthwhile * costs.here) {
    regret = {};
    return false;
  }
  regret.seconds += costs.gain();
  return ++regret.in_a_row >= lasting_for && regret.seconds > toll_;
}

// Work that is not what it was may compare otherwise, too.
bool PlacementPolicy::doubts(const Costs& costs) {
  const double above = costs.here - costs.least;
  const bool well = !has_shifted() || above < considerable * costs.here || now_.in_a_row > 0;
  doubt_ = well ? 0 : doubt_ + above;
  return doubt_ > patience * std::max(toll_, costs.here);
}

std::string PlacementPolicy::reason(const Costs& costs) const {
  const char* other = there_ ? "in the simulation" : "in the sidecars";
  if (!costs.elsewhere) return fmt::format("to see what it takes {}", other);
  return fmt::format("from one publication to the next it is {:.3g} s, {:.3g} s {}", costs.here,
                     *costs.elsewhere, other);
}

void PlacementPolicy::moved(double seconds) {
  left_.reset();
  if (knows()) left_ = work_.middle_of_few();
  there_ = !there_;
  toll_ = seconds;
  samples_ = 0;
  from_.reset();
  for (auto* recent : {&rest_, &own_, &work_, &others_}) recent->clear();
  now_ = all_along_ = {};
  doubt_ = 0;
}

}  // namespace pillion::policy

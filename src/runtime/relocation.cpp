// SPDX-License-Identifier: BSD-3-Clause
// When to move. As with the rent of skis, what staying has cost must exceed what moving costs; so
// moves never cost much more than they save, whatever comes.
#include "runtime/relocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace pillion::runtime {
namespace {

constexpr size_t remembered = 3;     ///< publications
constexpr size_t enough = 2;         ///< of which anything can be said
constexpr double worthwhile = 0.05;  ///< gain that matters, of what a publication takes
constexpr int64_t lasting = 2;       ///< publications for which it must have been so
constexpr double shifted = 3;        ///< by which factor work must change for a ratio to be doubted
constexpr double considerable = 0.2;
constexpr double patience = 10;

}  // namespace

void Recent::add(double value) {
  values_.push_back(value);
  if (values_.size() > remembered) values_.pop_front();
}

// Of two in the middle the smaller: what disturbs makes times longer.
double Recent::middle() const {
  std::vector<double> sorted(values_.begin(), values_.end());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double Recent::least() const { return *std::min_element(values_.begin(), values_.end()); }

std::string Relocation::note(const Sample& sample) {
  // The first publication at a place loads, plans and allocates.
  const bool counts = samples_++ > 0;
  if (counts) take(sample);
  last_ = sample;
  if (!counts || !knows()) return {};
  learn();
  return judge(costs());
}

void Relocation::take(const Sample& sample) {
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

bool Relocation::knows() const { return own_.size() >= enough && work_.size() >= enough; }

double Relocation::work() const { return work_.middle(); }

// What was measured shortly before and shortly after a move belongs together.
void Relocation::learn() {
  if (there_) copy_ = own_.least();
  if (!left_) return;
  const double here = there_ ? *left_ : work();
  const double there = there_ ? work() : *left_;
  if (there > 0) ratio_ = here / there;
  learned_at_ = here;
  left_.reset();
}

Relocation::Costs Relocation::costs() const {
  const double rest = rest_.middle(), others = std::max(0.0, others_.middle());
  if (!there_) {
    Costs costs{.here = rest + work(), .least = rest};
    if (ratio_) costs.elsewhere = std::max(rest + copy_, work() / *ratio_ + others);
    return costs;
  }
  Costs costs{.here = std::max(rest + copy_, work() + others), .least = rest};
  if (ratio_) costs.elsewhere = rest + work() * *ratio_;
  return costs;
}

bool Relocation::has_shifted() const {
  if (!ratio_) return false;
  const double now = there_ ? work() * *ratio_ : work();
  return now > shifted * learned_at_ || now * shifted < learned_at_;
}

std::string Relocation::judge(const Costs& costs) {
  const char* other = there_ ? "in the simulation" : "in the sidecars";
  const double gain = costs.here - costs.elsewhere.value_or(costs.least);
  if (gain > worthwhile * costs.here) {
    regret_ += gain;
    if (++in_a_row_ >= lasting && regret_ > toll_) {
      if (!costs.elsewhere) return fmt::format("to see what it takes {}", other);
      return fmt::format("from one publication to the next it is {:.3g} s, {:.3g} s {}", costs.here,
                         *costs.elsewhere, other);
    }
    return {};
  }
  regret_ = 0;
  in_a_row_ = 0;
  // Work that is not what it was may compare otherwise, too.
  if (!has_shifted() || costs.here - costs.least < considerable * costs.here) {
    doubt_ = 0;
    return {};
  }
  doubt_ += costs.here - costs.least;
  if (doubt_ <= patience * std::max(toll_, costs.here)) return {};
  return fmt::format("to see again what it takes {}", other);
}

void Relocation::moved(double seconds) {
  left_.reset();
  if (knows()) left_ = work();
  there_ = !there_;
  toll_ = seconds;
  samples_ = 0;
  from_.reset();
  for (auto* recent : {&rest_, &own_, &work_, &others_}) recent->clear();
  regret_ = doubt_ = 0;
  in_a_row_ = 0;
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Statistics for conditions.
#include "simulation/conditions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace pillion::simulation {

namespace {

// Numbers in the reductions: of a quantity, and of what attached jobs have cost.
constexpr size_t sums_of_quantity = 5, maxima_of_quantity = 2, costs = 2;

}  // namespace

bool Conditions::may_hold(size_t a, int64_t step, double time) const {
  return !conditions_[a] || is_checked(a) || conditions_[a]->holds({{}, step, time, {}});
}

std::set<size_t> Conditions::scalars() const {
  std::set<size_t> numbers;
  for (size_t a = 0; a < std::min(own_, conditions_.size()); ++a)
    if (conditions_[a])
      numbers.insert(conditions_[a]->scalars().begin(), conditions_[a]->scalars().end());
  return numbers;
}

std::set<std::string> Conditions::fields(size_t a) const {
  std::set<std::string> names;
  if (conditions_[a])
    for (const auto& quantity : conditions_[a]->quantities()) {
      const auto& read = readers_.at(quantity.field).fields();
      names.insert(read.begin(), read.end());
    }
  return names;
}

void Conditions::set(size_t number, const model::AnalysisSpec& analysis) {
  std::vector<size_t> needs;
  if (analysis.when)
    for (const auto& quantity : analysis.when->quantities()) {
      const auto known = std::find(quantities_.begin(), quantities_.end(), quantity);
      needs.push_back(static_cast<size_t>(known - quantities_.begin()));
      if (known == quantities_.end()) quantities_.push_back(quantity);
      if (!readers_.contains(quantity.field))
        readers_.try_emplace(quantity.field, run_.configuration.catalogue, quantity.field);
    }
  needed_.reserve(std::max(needed_.capacity(), needs.size()));
  conditions_.resize(std::max(conditions_.size(), number + 1));
  needs_.resize(conditions_.size());
  conditions_[number] = analysis.when;
  needs_[number] = std::move(needs);
  reserve();
}

void Conditions::reserve() {
  check_.analyses.reserve(conditions_.size());
  check_.quantities.reserve(quantities_.size());
  places_.reserve(quantities_.size());
  moments_.reserve(quantities_.size());
  sums_.reserve(sums_of_quantity * quantities_.size());
  const size_t scalars = run_.scalars.size();
  of_first_.reserve(scalars);
  maxima_.reserve(costs + StepNumbers::width(scalars) + maxima_of_quantity * quantities_.size());
}

// A rank that lacked memory has not added what others have: all come back to the same quantities.
void Conditions::resize(size_t analyses) {
  conditions_.erase(
      conditions_.begin() + static_cast<ptrdiff_t>(std::min(analyses, conditions_.size())),
      conditions_.end());
  needs_.erase(needs_.begin() + static_cast<ptrdiff_t>(std::min(analyses, needs_.size())),
               needs_.end());
  size_t used = 0;
  for (const auto& needs : needs_)
    for (const size_t quantity : needs) used = std::max(used, quantity + 1);
  quantities_.erase(quantities_.begin() + static_cast<ptrdiff_t>(used), quantities_.end());
  std::erase_if(readers_, [&](const auto& reader) {
    return std::none_of(quantities_.begin(), quantities_.end(),
                        [&](const auto& quantity) { return quantity.field == reader.first; });
  });
  reserve();
}

// Analyses of attached jobs have the last numbers, and so what only they need comes last.
void Conditions::begin_check(const std::vector<size_t>& analyses) {
  check_.analyses.assign(analyses.begin(), analyses.end());
  std::sort(check_.analyses.begin(), check_.analyses.end());
  check_.quantities.clear();
  check_.own = 0;
  const size_t nowhere = quantities_.size();
  places_.assign(quantities_.size(), nowhere);
  for (const size_t a : check_.analyses) {
    for (const size_t q : needs_[a])
      if (places_[q] == nowhere) {
        places_[q] = check_.quantities.size();
        check_.quantities.push_back(q);
      }
    if (a < own_) check_.own = check_.quantities.size();
  }
  moments_.assign(check_.quantities.size(), {});
}

// A rank whose blocks do not fit, or that lacks memory, still takes part in the reduction, for the
// others wait for it.
void Conditions::compute(size_t first, size_t last, const Sharing& sharing) {
  if (first == last) return;
  try {
    compute_fields(first, last, sharing);
  } catch (const std::exception& e) {
    try {
      run_.log.warn("rank {} is left out of a condition at step {}: {}", run_.side.rank(),
                    check_.step, e.what());
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nor is there memory for that
    }
  }
}

void Conditions::compute_fields(size_t first, size_t last, const Sharing& sharing) {
  std::map<std::string, std::vector<size_t>> by_field;
  std::set<std::string> names;
  for (size_t place = first; place < last; ++place) {
    const auto& field = quantities_[check_.quantities[place]].field;
    by_field[field].push_back(place);
    const auto& read = readers_.at(field).fields();
    names.insert(read.begin(), read.end());
  }
  const auto look = sharing.publication(names, check_.step, check_.time);
  stagehost::ExecutionContext context;
  context.peers = &run_.side;
  context.plans = run_.plans.get();
  for (const auto& [name, places] : by_field) {
    std::vector<int32_t> components;
    for (const size_t place : places)
      components.push_back(quantities_[check_.quantities[place]].component);
    const auto found = readers_.at(name).moments(look, components, context);
    ++passes_;
    for (size_t i = 0; i < found.size(); ++i) moments_[places[i]] = found[i];
  }
}

void Conditions::bill(double seconds, std::span<const size_t> analyses) {
  for (const size_t a : analyses)
    run_.accounts[a].simulation_seconds += seconds / static_cast<double>(analyses.size());
}

void Conditions::start(const std::vector<size_t>& analyses, const Sharing& sharing, int64_t step,
                       double time, policy::AttachedCost& cost) {
  const run::Stopwatch watch;
  begin_check(analyses);
  check_.step = step;
  check_.time = time;
  check_.steps = cost.steps;
  const std::span all(check_.analyses);
  const auto own = static_cast<size_t>(
      std::partition_point(all.begin(), all.end(), [&](size_t a) { return a < own_; }) -
      all.begin());
  compute(0, check_.own, sharing);
  bill(watch.seconds(), all.first(own));
  const run::Stopwatch theirs;
  compute(check_.own, check_.quantities.size(), sharing);
  if (own < all.size()) cost.seconds += theirs.seconds();
  bill(theirs.seconds(), all.subspan(own));
  auto sum = sums_.prepare(sums_of_quantity * quantities_.size()).begin();
  const size_t width = StepNumbers::width(run_.scalars.size());
  const auto maxima = maxima_.prepare(costs + width + maxima_of_quantity * quantities_.size());
  maxima[0] = cost.seconds;
  maxima[1] = -cost.running;
  StepNumbers::put(run_.side.rank() == 0, step, time, run_.scalars, maxima.subspan(costs, width));
  auto maximum = maxima.begin() + static_cast<std::ptrdiff_t>(costs + width);
  for (const auto& m : moments_) {
    for (const double value : {m.count, m.sum, m.weight, m.weighted_sum, m.weighted_squares})
      *sum++ = value;
    for (const double value : {-m.minimum, m.maximum}) *maximum++ = value;
  }
  sums_.start();
  maxima_.start();
  watch.end(run_.timeline, "conditions", "condition", step);
}

std::optional<policy::AttachedCost> Conditions::settle(run::Agenda& agenda) {
  const auto sums = sums_.settle(), maxima = maxima_.settle();
  if (!sums || !maxima) return {};
  const size_t width = StepNumbers::width(run_.scalars.size());
  const auto numbers = maxima->subspan(costs, width);
  of_first_.read(numbers);
  difference_ = StepNumbers::difference(numbers, run_.configuration.catalogue);
  for (const size_t a : check_.analyses) {
    needed_.clear();
    for (const size_t quantity : needs_[a]) {
      const double* sum = &(*sums)[sums_of_quantity * places_[quantity]];
      const double* maximum = &(*maxima)[costs + width + maxima_of_quantity * places_[quantity]];
      needed_.push_back({sum[0], sum[1], sum[2], sum[3], sum[4], -maximum[0], maximum[1]});
    }
    agenda.schedule_state(a).fired =
        conditions_[a]->holds({needed_, of_first_.step(), of_first_.time(), of_first_.scalars()});
  }
  return policy::AttachedCost{(*maxima)[0], -(*maxima)[1], check_.steps};
}

}  // namespace pillion::simulation

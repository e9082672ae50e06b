// SPDX-License-Identifier: BSD-3-Clause
// Statistics for conditions.
#include "simulation/conditions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace pillion::simulation {

using model::Array;
using model::Block;
using model::Moments;

namespace {

// Numbers in the reductions: of a quantity, and of what attached jobs have cost.
constexpr size_t sums_of_quantity = 3, maxima_of_quantity = 2, costs = 2;

/// Moments in several parts, so that one value need not wait for the sum of those before.
class PartialMoments {
 public:
  static constexpr int64_t count = 8;

  template <class At>
  void add_row(int64_t values, At&& at) {
    int64_t i = 0;
    for (; i + count <= values; i += count)
      for (int64_t part = 0; part < count; ++part) add(part, at(i + part));
    for (; i < values; ++i) add(i % count, at(i));
  }
  void add_to(Moments& moments) const {
    for (size_t part = 0; part < count; ++part) {
      moments.sum += sum_[part];
      moments.sum_of_squares += squares_[part];
      moments.minimum = std::min(moments.minimum, minimum_[part]);
      moments.maximum = std::max(moments.maximum, maximum_[part]);
    }
  }

 private:
  void add(int64_t part, double value) {
    const auto l = static_cast<size_t>(part);
    sum_[l] += value;
    squares_[l] += value * value;
    minimum_[l] = std::min(minimum_[l], value);
    maximum_[l] = std::max(maximum_[l], value);
  }
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  std::array<double, count> sum_{}, squares_{};
  std::array<double, count> minimum_{infinity, infinity, infinity, infinity,
                                     infinity, infinity, infinity, infinity};
  std::array<double, count> maximum_{-infinity, -infinity, -infinity, -infinity,
                                     -infinity, -infinity, -infinity, -infinity};
};

/// `places` is where the components of a value are, from the first on.
template <class T>
void add_row(const T* row, int64_t apart, int64_t values, std::span<const int64_t> places,
             int32_t component, PartialMoments& parts) {
  if (component >= 0) {
    const T* first = row + places[static_cast<size_t>(component)];
    if (apart == 1) parts.add_row(values, [=](int64_t i) { return static_cast<double>(first[i]); });
    else parts.add_row(values, [=](int64_t i) { return static_cast<double>(first[i * apart]); });
    return;
  }
  parts.add_row(values, [&](int64_t i) {
    double square = 0;
    for (const int64_t place : places) {
      const auto v = static_cast<double>(row[i * apart + place]);
      square += v * v;
    }
    return std::sqrt(square);
  });
}

// All components of a row, one after the other, while the row is in cache.
template <class T>
void add_block(const Array& array, const model::Box& box, std::span<const int32_t> components,
               std::vector<Moments>& moments) {
  const auto& s = array.strides;
  std::vector<int64_t> places;
  for (int32_t c = 0; c < array.components; ++c) places.push_back(array.component_at(c));
  std::vector<PartialMoments> parts(components.size());
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j) {
      const T* row = static_cast<const T*>(array.data) + j * s[1] + k * s[2];
      for (size_t c = 0; c < components.size(); ++c)
        add_row(row, s[0], box.extent(0), places, components[c], parts[c]);
    }
  for (size_t c = 0; c < components.size(); ++c) {
    parts[c].add_to(moments[c]);
    moments[c].count += static_cast<double>(box.volume());
  }
}

/// The same values with the points of an element as the first axis, and its elements as the second.
void unfold(int32_t points, Array& array, model::Box& box) {
  box = {{0, 0, 0}, {points, box.extent(0), 1}};
  array.strides = {array.strides[3], array.strides[0], 0, points * array.strides[3]};
  array.components /= points;
}

}  // namespace

std::vector<Moments> moments_of(const std::string& field, std::span<const int32_t> components,
                                const std::vector<Block>& blocks, int32_t points) {
  std::vector<Moments> moments(components.size());
  for (const auto& block : blocks) {
    Array array = block.arrays.at(field);
    model::Box box = model::box_of(array, block.box);
    if (points > 1) unfold(points, array, box);
    model::with_type(array.type, array.data,
                     [&]<class T>(const T*) { add_block<T>(array, box, components, moments); });
  }
  return moments;
}

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
    for (const auto& quantity : conditions_[a]->quantities()) names.insert(quantity.field);
  return names;
}

void Conditions::set(size_t number, const model::AnalysisSpec& analysis) {
  std::vector<size_t> needs;
  if (analysis.when)
    for (const auto& quantity : analysis.when->quantities()) {
      const auto known = std::find(quantities_.begin(), quantities_.end(), quantity);
      needs.push_back(static_cast<size_t>(known - quantities_.begin()));
      if (known == quantities_.end()) quantities_.push_back(quantity);
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
    names.insert(field);
  }
  const auto& catalogue = run_.configuration.catalogue;
  const auto look = sharing.publication(names, check_.step, check_.time);
  for (const auto& [name, places] : by_field) {
    const auto& field = catalogue.field(name);
    const auto mesh = look.meshes.find(field.mesh);
    if (mesh == look.meshes.end()) continue;
    std::vector<int32_t> components;
    for (const size_t place : places)
      components.push_back(quantities_[check_.quantities[place]].component);
    const auto found = moments_of(name, components, mesh->second.blocks,
                                  model::points_of(catalogue.mesh(field.mesh), field));
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
    for (const double value : {m.count, m.sum, m.sum_of_squares}) *sum++ = value;
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
      needed_.push_back({sum[0], sum[1], sum[2], -maximum[0], maximum[1]});
    }
    agenda.schedule_state(a).fired =
        conditions_[a]->holds({needed_, of_first_.step(), of_first_.time(), of_first_.scalars()});
  }
  return policy::AttachedCost{(*maxima)[0], -(*maxima)[1], check_.steps};
}

}  // namespace pillion::simulation

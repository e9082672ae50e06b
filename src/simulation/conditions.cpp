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
using model::Quantity;

namespace {

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

template <class T>
void add_row(const Array& array, const T* row, int64_t values, int32_t component,
             PartialMoments& parts) {
  const int64_t apart = array.strides[0], to_next = array.strides[3];
  if (component >= 0) {
    const T* first = row + component * to_next;
    if (apart == 1) parts.add_row(values, [=](int64_t i) { return static_cast<double>(first[i]); });
    else parts.add_row(values, [=](int64_t i) { return static_cast<double>(first[i * apart]); });
    return;
  }
  parts.add_row(values, [&](int64_t i) {
    double square = 0;
    for (int32_t c = 0; c < array.components; ++c) {
      const auto v = static_cast<double>(row[i * apart + c * to_next]);
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
  std::vector<PartialMoments> parts(components.size());
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j) {
      const T* row = static_cast<const T*>(array.data) + j * s[1] + k * s[2];
      for (size_t c = 0; c < components.size(); ++c)
        add_row(array, row, box.extent(0), components[c], parts[c]);
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
    model::Box box = block.box;
    if (points > 1) unfold(points, array, box);
    switch (array.type) {
      case model::ElementType::Int32: add_block<int32_t>(array, box, components, moments); break;
      case model::ElementType::Int64: add_block<int64_t>(array, box, components, moments); break;
      case model::ElementType::Float32: add_block<float>(array, box, components, moments); break;
      default:  // no field has one of the others
        add_block<double>(array, box, components, moments);
        break;
    }
  }
  return moments;
}

bool Conditions::may_hold(size_t a, int64_t step, double time) const {
  return !conditions_[a] || is_checked(a) || conditions_[a]->holds({}, step, time);
}

std::set<std::string> Conditions::fields(size_t a) const {
  std::set<std::string> names;
  if (conditions_[a])
    for (const auto& quantity : conditions_[a]->quantities()) names.insert(quantity.field);
  return names;
}

namespace {

size_t index_of(const Quantity& quantity, const std::vector<Quantity>& all) {
  return static_cast<size_t>(std::find(all.begin(), all.end(), quantity) - all.begin());
}

}  // namespace

// Analyses of attached jobs have the last numbers, and so what only they need comes last.
Conditions::Check Conditions::check_of(const std::vector<size_t>& analyses) const {
  Check check;
  check.analyses = analyses;
  std::sort(check.analyses.begin(), check.analyses.end());
  for (const size_t a : check.analyses) {
    for (const auto& quantity : conditions_[a]->quantities())
      if (index_of(quantity, check.quantities) == check.quantities.size())
        check.quantities.push_back(quantity);
    if (a < own_) check.own = check.quantities.size();
  }
  return check;
}

// A rank whose blocks do not fit still takes part in the reduction, for the others wait for it.
void Conditions::compute(size_t first, size_t last, const Sharing& sharing,
                         std::vector<Moments>& moments) const {
  std::map<std::string, std::vector<size_t>> by_field;
  std::set<std::string> names;
  for (size_t q = first; q < last; ++q) {
    by_field[check_.quantities[q].field].push_back(q);
    names.insert(check_.quantities[q].field);
  }
  if (names.empty()) return;
  const auto& catalogue = run_.configuration.catalogue;
  try {
    const auto look = sharing.publication(names, check_.step, check_.time);
    for (const auto& [name, quantities] : by_field) {
      const auto& field = catalogue.field(name);
      const auto mesh = look.meshes.find(field.mesh);
      if (mesh == look.meshes.end()) continue;
      std::vector<int32_t> components;
      for (const size_t q : quantities) components.push_back(check_.quantities[q].component);
      const auto found = moments_of(name, components, mesh->second.blocks,
                                    model::points_of(catalogue.mesh(field.mesh), field));
      for (size_t i = 0; i < found.size(); ++i) moments[quantities[i]] = found[i];
    }
  } catch (const Error& e) {
    run_.log.warn("rank {} is left out of a condition at step {}: {}", run_.side.rank(),
                  check_.step, e.what());
  }
}

void Conditions::bill(double seconds, const std::vector<size_t>& analyses) {
  for (const size_t a : analyses)
    run_.accounts[a].simulation_seconds += seconds / static_cast<double>(analyses.size());
}

void Conditions::start(const std::vector<size_t>& analyses, const Sharing& sharing, int64_t step,
                       double time, policy::AttachedCost& cost) {
  const run::Stopwatch watch;
  check_ = check_of(analyses);
  check_.step = step;
  check_.time = time;
  check_.steps = cost.steps;
  const auto attached = std::partition_point(check_.analyses.begin(), check_.analyses.end(),
                                             [&](size_t a) { return a < own_; });
  std::vector<Moments> moments(check_.quantities.size());
  compute(0, check_.own, sharing, moments);
  bill(watch.seconds(), {check_.analyses.begin(), attached});
  const run::Stopwatch theirs;
  compute(check_.own, check_.quantities.size(), sharing, moments);
  if (attached != check_.analyses.end()) cost.seconds += theirs.seconds();
  bill(theirs.seconds(), {attached, check_.analyses.end()});
  std::vector<double> sums, maxima{cost.seconds, -cost.running};
  for (const auto& m : moments) {
    sums.insert(sums.end(), {m.count, m.sum, m.sum_of_squares});
    maxima.insert(maxima.end(), {-m.minimum, m.maximum});
  }
  sums_.start(std::move(sums));
  maxima_.start(std::move(maxima));
  watch.end(run_.timeline, "conditions", "condition", step);
}

std::optional<policy::AttachedCost> Conditions::settle(run::Agenda& agenda) {
  const auto sums = sums_.settle(), maxima = maxima_.settle();
  if (!sums || !maxima) return {};
  constexpr size_t costs = 2;
  for (const size_t a : check_.analyses) {
    std::vector<Moments> moments;
    for (const auto& quantity : conditions_[a]->quantities()) {
      const size_t q = index_of(quantity, check_.quantities);
      moments.push_back({sums->at(3 * q), sums->at(3 * q + 1), sums->at(3 * q + 2),
                         -maxima->at(2 * q + costs), maxima->at(2 * q + 1 + costs)});
    }
    agenda.schedule_state(a).fired = conditions_[a]->holds(moments, check_.step, check_.time);
  }
  return policy::AttachedCost{maxima->at(0), -maxima->at(1), check_.steps};
}

}  // namespace pillion::simulation

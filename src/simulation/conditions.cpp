// SPDX-License-Identifier: BSD-3-Clause
// Statistics for conditions.
#include "simulation/conditions.hpp"

#include <algorithm>
#include <cmath>

namespace pillion::simulation {

using model::Array;
using model::Block;
using model::Moments;
using model::Quantity;

namespace {

template <class T>
double value_at(const Array& array, int64_t at, int32_t component) {
  const T* data = static_cast<const T*>(array.data) + at;
  if (component >= 0) return static_cast<double>(data[component * array.strides[3]]);
  double square = 0;
  for (int32_t c = 0; c < array.components; ++c) {
    const auto v = static_cast<double>(data[c * array.strides[3]]);
    square += v * v;
  }
  return std::sqrt(square);
}

template <class T>
void add_block(const Array& array, const model::Box& box, int32_t component, Moments& moments) {
  const auto& s = array.strides;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j)
      for (int64_t i = 0; i < box.extent(0); ++i) {
        const double v = value_at<T>(array, i * s[0] + j * s[1] + k * s[2], component);
        moments.sum += v;
        moments.sum_of_squares += v * v;
        moments.minimum = std::min(moments.minimum, v);
        moments.maximum = std::max(moments.maximum, v);
      }
  moments.count += static_cast<double>(box.volume());
}

/// The same values with the points of an element as the first axis, and its elements as the second.
void unfold(int32_t points, Array& array, model::Box& box) {
  box = {{0, 0, 0}, {points, box.extent(0), 1}};
  array.strides = {array.strides[3], array.strides[0], 0, points * array.strides[3]};
  array.components /= points;
}

}  // namespace

Moments moments_of(const Quantity& quantity, const std::vector<Block>& blocks, int32_t points) {
  Moments moments;
  for (const auto& block : blocks) {
    Array array = block.arrays.at(quantity.field);
    model::Box box = block.box;
    if (points > 1) unfold(points, array, box);
    switch (array.type) {
      case model::ElementType::Int32:
        add_block<int32_t>(array, box, quantity.component, moments);
        break;
      case model::ElementType::Int64:
        add_block<int64_t>(array, box, quantity.component, moments);
        break;
      case model::ElementType::Float32:
        add_block<float>(array, box, quantity.component, moments);
        break;
      default:  // no field has one of the others
        add_block<double>(array, box, quantity.component, moments);
        break;
    }
  }
  return moments;
}

std::set<std::string> ConditionCheck::fields() const {
  std::set<std::string> names;
  for (const auto& quantity : condition_.quantities()) names.insert(quantity.field);
  return names;
}

void ConditionCheck::start(const stagehost::Publication& publication) {
  std::vector<double> sums, maxima;
  for (const auto& quantity : condition_.quantities()) {
    const auto& field = catalogue_.field(quantity.field);
    const auto mesh = publication.meshes.find(field.mesh);
    const int32_t points = model::points_of(catalogue_.mesh(field.mesh), field);
    const auto moments = mesh == publication.meshes.end()
                             ? Moments()
                             : moments_of(quantity, mesh->second.blocks, points);
    sums.insert(sums.end(), {moments.count, moments.sum, moments.sum_of_squares});
    maxima.insert(maxima.end(), {-moments.minimum, moments.maximum});
  }
  sums_.start(std::move(sums));
  maxima_.start(std::move(maxima));
  step_ = publication.step;
  time_ = publication.time;
}

bool ConditionCheck::settle(bool before) {
  const auto sums = sums_.settle(), maxima = maxima_.settle();
  if (!sums || !maxima) return before;
  std::vector<Moments> moments;
  for (size_t q = 0; q < condition_.quantities().size(); ++q)
    moments.push_back({sums->at(3 * q), sums->at(3 * q + 1), sums->at(3 * q + 2),
                       -maxima->at(2 * q), maxima->at(2 * q + 1)});
  return condition_.holds(moments, step_, time_);
}

void Conditions::add(const model::AnalysisSpec& analysis) {
  auto& trigger = checks_.emplace_back();
  if (analysis.when)
    trigger =
        std::make_unique<ConditionCheck>(*analysis.when, run_.configuration.catalogue, run_.side);
}

bool Conditions::may_hold(size_t a, int64_t step, double time) const {
  return !checks_[a] || checks_[a]->may_hold(step, time);
}

// A rank whose blocks do not fit still takes part in the reduction, for the others wait for it.
bool Conditions::check(size_t a, bool& fired, const Sharing& sharing, int64_t step, double time) {
  if (!checks_[a]) return true;
  if (checks_[a]->is_immediate()) return fired = checks_[a]->may_hold(step, time);
  const run::Stopwatch watch;
  fired = checks_[a]->settle(fired);
  stagehost::Publication look{.step = step, .time = time, .meshes = {}, .domains = {}};
  try {
    look = sharing.publication(checks_[a]->fields(), step, time);
  } catch (const Error& e) {
    run_.log.warn("rank {} is left out of a condition at step {}: {}", run_.side.rank(), step,
                  e.what());
  }
  checks_[a]->start(look);
  run_.accounts[a].simulation_seconds += watch.end(
      run_.timeline, run_.configuration.analyses[a].name + " (condition)", "condition", step);
  return fired;
}

void Conditions::settle(size_t a, bool& fired) {
  if (checks_[a]) fired = checks_[a]->settle(fired);
}

std::set<std::string> Conditions::fields(size_t a) const {
  return checks_[a] ? checks_[a]->fields() : std::set<std::string>();
}

}  // namespace pillion::simulation

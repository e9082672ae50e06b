// SPDX-License-Identifier: BSD-3-Clause
// Statistics for conditions.
#include "runtime/trigger.hpp"

#include <algorithm>
#include <cmath>

namespace pillion::runtime {

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
      case model::ElementType::Float64:
        add_block<double>(array, box, quantity.component, moments);
        break;
    }
  }
  return moments;
}

std::set<std::string> Trigger::fields() const {
  std::set<std::string> names;
  for (const auto& quantity : condition_.quantities()) names.insert(quantity.field);
  return names;
}

void Trigger::start(const stagehost::Publication& publication) {
  sums_.clear();
  maxima_.clear();
  for (const auto& quantity : condition_.quantities()) {
    const auto& field = catalogue_.field(quantity.field);
    const auto mesh = publication.meshes.find(field.mesh);
    const int32_t points = model::points_of(catalogue_.mesh(field.mesh), field);
    const auto moments = mesh == publication.meshes.end()
                             ? Moments()
                             : moments_of(quantity, mesh->second.blocks, points);
    sums_.insert(sums_.end(), {moments.count, moments.sum, moments.sum_of_squares});
    maxima_.insert(maxima_.end(), {-moments.minimum, moments.maximum});
  }
  sum_request_ = comm::start_sum(simulation_, sums_.data(), static_cast<int>(sums_.size()));
  maximum_request_ =
      comm::start_maximum(simulation_, maxima_.data(), static_cast<int>(maxima_.size()));
  step_ = publication.step;
  time_ = publication.time;
  pending_ = true;
}

bool Trigger::settle(bool before) {
  if (!pending_) return before;
  sum_request_.wait();
  maximum_request_.wait();
  pending_ = false;
  std::vector<Moments> moments;
  for (size_t q = 0; q < condition_.quantities().size(); ++q)
    moments.push_back(
        {sums_[3 * q], sums_[3 * q + 1], sums_[3 * q + 2], -maxima_[2 * q], maxima_[2 * q + 1]});
  return condition_.holds(moments, step_, time_);
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// The parameters of `halos`, and the values of its field: sorted for the search, NaN replaced, and
// added up for their mean without losing a digit. Thresholds are multiples of the mean, and on
// which side of one a cell lies must not depend on how the mesh was cut.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "grid.hpp"

namespace pillion::stages::halos {

/// A sum of doubles kept as two of them, good for about 30 digits.
class CompensatedSum {
 public:
  CompensatedSum() = default;
  CompensatedSum(double high, double low) : high_(high), low_(low) {}
  void add(double value) {
    const double sum = high_ + value, of_value = sum - high_;
    low_ += (high_ - (sum - of_value)) + (value - of_value);
    high_ = sum;
  }
  void add(const CompensatedSum& other) {
    add(other.high_);
    low_ += other.low_;
  }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double value() const { return high_ + low_; }

 private:
  double high_ = 0, low_ = 0;
};

/// Which components of the cells at or above `boundary` are halos: those whose maximum is at or
/// above `peak`.
struct Thresholds {
  double boundary, peak;
  bool are_absolute = false;  ///< else multiples of the mean

  /// Both in the field's units.
  [[nodiscard]] std::pair<double, double> of(double mean) const {
    const double unit = are_absolute ? 1 : mean;
    return {boundary * unit, peak * unit};
  }
};

inline Thresholds thresholds_from(const stage::Value& value) {
  Thresholds out{};
  if (value.is_map()) {
    only_keys(value, {"boundary", "peak", "absolute"});
    if (!value.find("boundary") || !value.find("peak"))
      value.fail("thresholds need `boundary` and `peak`");
    out = {value.find("boundary").real(), value.find("peak").real()};
    if (const auto absolute = value.find("absolute")) out.are_absolute = absolute.boolean();
  } else {
    if (!value.is_list() || value.size() != 2)
      value.fail(
          "expected a pair [BOUNDARY, PEAK], or {boundary: …, peak: …, absolute: true}, not " +
          written(value));
    out = {value[0].real(), value[1].real()};
  }
  if (!std::isfinite(out.boundary) || !std::isfinite(out.peak))
    value.fail("thresholds must be finite");
  if (out.peak < out.boundary)
    value.fail("the peak's threshold is below that of the boundary in " + written(value));
  return out;
}

inline std::vector<Thresholds> all_thresholds(const stage::Value& list) {
  if (!list.is_list() || list.size() == 0)
    list.fail("expected a list of pairs of thresholds, such as [[82, 200]]");
  std::vector<Thresholds> out;
  for (int64_t i = 0; i < list.size(); ++i) out.push_back(thresholds_from(list[i]));
  return out;
}

/// A component of another field whose average over each halo is wanted.
struct Average {
  std::string column, field;
  int32_t component;
  bool is_weighted;
};

/// Those of a parameter, on the mesh of the halos.
inline void add_averages(const stage::Setup& setup, const std::string& parameter,
                         const std::string& mesh, bool is_weighted, std::vector<Average>& out) {
  const auto list = setup[parameter];
  if (!list) return;
  std::set<std::string> seen;
  for (const auto& name : list.texts()) {
    const auto field = setup.field(name, list);
    if (!seen.insert(name).second) list.fail("field '" + name + "' is listed twice");
    if (mesh != field.mesh)
      list.fail("field '" + name + "' is on mesh '" + field.mesh + "', halos are on '" + mesh +
                "'");
    for (int32_t c = 0; c < field.components; ++c)
      out.push_back(
          {(is_weighted ? "mass_average_" : "average_") + name + ending_of(c, field.components),
           name, c, is_weighted});
  }
}

/// [lowest, highest] for the bins of masses, or nothing for `auto`.
inline std::optional<std::pair<double, double>> masses_from(const stage::Value& value) {
  if (value.is_scalar()) {
    choice(value, {"auto"});
    return {};
  }
  if (!value.is_list() || value.size() != 2) value.fail("expected `auto` or [LOWEST, HIGHEST]");
  const std::pair<double, double> range = {value[0].real(), value[1].real()};
  if (!(range.first > 0 && range.first < range.second && std::isfinite(range.second)))
    value.fail("masses must be above 0 and finite, the lower one first");
  return range;
}

/// What values are compared as: int64 as the nearest double.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, int64_t>, double, T>;

template <class T>
class FieldValues {
 public:
  FieldValues(const Piece& piece, const T* values) : values_(nullptr) {
    if constexpr (!std::is_same_v<T, Compared<T>>) {
      copy_.assign(values, values + piece.size());
      values_ = copy_.data();
    } else {
      values_ = values;
      if constexpr (std::is_floating_point_v<T>) put_last(piece);
    }
    add_up(piece);
  }
  [[nodiscard]] const Compared<T>* data() const { return values_; }
  /// Of own cells with finite values.
  [[nodiscard]] const CompensatedSum& sum() const { return sum_; }
  [[nodiscard]] int64_t finite() const { return finite_; }

 private:
  /// NaN becomes lower than everything.
  void put_last(const Piece& piece) {
    const int64_t size = piece.size();
    int64_t unordered = 0;
    for (int64_t i = 0; i < size; ++i) unordered += values_[i] != values_[i] ? 1 : 0;
    if (unordered == 0) return;
    copy_.assign(values_, values_ + size);
    for (auto& value : copy_)
      if (std::isnan(value)) value = -std::numeric_limits<T>::infinity();
    values_ = copy_.data();
  }

  void add_up(const Piece& piece) {
    const int64_t count = piece.inner_hi[0] - piece.inner_lo[0];
    for (int64_t z = piece.inner_lo[2]; z < piece.inner_hi[2]; ++z)
      for (int64_t y = piece.inner_lo[1]; y < piece.inner_hi[1]; ++y)
        add_up(values_ + piece.offset({piece.inner_lo[0], y, z}), count);
    for (const auto& lane : lanes_) sum_.add(lane);
  }
  void add_up(const Compared<T>* row, int64_t count) {
    constexpr int64_t n = lanes;
    int64_t finite = 0;
    for (int64_t i = 0; i < count; ++i)
      finite += std::isfinite(static_cast<double>(row[i])) ? 1 : 0;
    finite_ += finite;
    if (finite < count) {
      for (int64_t i = 0; i < count; ++i)
        if (std::isfinite(static_cast<double>(row[i]))) lanes_[0].add(static_cast<double>(row[i]));
      return;
    }
    int64_t i = 0;
    for (; i + n <= count; i += n)
      for (int64_t l = 0; l < n; ++l) lanes_[l].add(static_cast<double>(row[i + l]));
    for (; i < count; ++i) lanes_[0].add(static_cast<double>(row[i]));
  }

  static constexpr int64_t lanes = 8;
  const Compared<T>* values_;
  std::vector<Compared<T>> copy_;
  CompensatedSum lanes_[lanes];
  CompensatedSum sum_;
  int64_t finite_ = 0;
};

}  // namespace pillion::stages::halos

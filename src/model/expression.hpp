// SPDX-License-Identifier: BSD-3-Clause
// Conditions such as `max(density) > 1e3 and step > 100`: numbers, step, time, scalars, statistics
// of fields, arithmetic, comparisons, and, or, not. Parsing and evaluating are pure; who reduces
// the statistics over the ranks is another matter.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/catalogue.hpp"

namespace pillion::model {

/// A field, or one component of it, or its norm, whose values a condition looks at.
struct Quantity {
  static constexpr int32_t norm = -1;
  std::string field;
  int32_t component = 0;
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

/// What is known of a quantity after a reduction: of values that count and are finite, but for the
/// extremes, which may be infinite. Weights are those of the stages, volumes as a rule.
struct Moments {
  double count = 0;
  double sum = 0;
  double weight = 0;
  double weighted_sum = 0;
  double weighted_squares = 0;
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
};

/// What a condition is evaluated with.
struct StepValues {
  std::span<const Moments> moments;  ///< by quantity of the condition
  int64_t step;
  double time;
  std::span<const double> scalars;  ///< of the catalogue, in its order
};

class Expression {
 public:
  /// Parses a condition; throws a configuration error at `place` for what it cannot read and for
  /// fields that the catalogue does not have.
  Expression(const base::Value& place, const Catalogue& catalogue);

  /// The quantities to reduce, in the order in which holds() wants them.
  [[nodiscard]] const std::vector<Quantity>& quantities() const { return quantities_; }
  /// The scalars that it uses, by their places in the catalogue.
  [[nodiscard]] const std::set<size_t>& scalars() const { return scalars_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  /// Whether each of its parts is a comparison, or a scalar, which may be a flag. Anything else is
  /// a number, which would hold at every step or at none.
  [[nodiscard]] bool compares() const;
  /// Whether the condition holds. A comparison with a value that is not a number is false.
  [[nodiscard]] bool holds(const StepValues& values) const;

  struct Node;

 private:
  std::string text_;
  std::vector<Quantity> quantities_;
  std::set<size_t> scalars_;
  std::shared_ptr<const Node> root_;
};

}  // namespace pillion::model

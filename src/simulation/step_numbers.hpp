// SPDX-License-Identifier: BSD-3-Clause
// The numbers that every rank gives of a step: which one it is, its time and the scalars. Decisions
// use the values of the first rank, so that all ranks decide the same, and differences are found.
// All of it is in reductions by maximum that ranks make anyway.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/catalogue.hpp"

namespace pillion::simulation {

class StepNumbers {
 public:
  /// How many values of a reduction are taken for this.
  static size_t width(size_t scalars) { return 3 * (2 + scalars); }

  /// Contributes what this rank has. `to` has the width for as many scalars.
  static void put(bool is_first_rank, int64_t step, double time, std::span<const double> scalars,
                  std::span<double> to);

  /// Takes what the first rank gave from a reduction. Takes no memory for as many scalars as were
  /// reserved.
  void read(std::span<const double> reduced);
  void reserve(size_t scalars) { scalars_.reserve(scalars); }
  [[nodiscard]] int64_t step() const { return step_; }
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] std::span<const double> scalars() const { return scalars_; }

  /// The first of the numbers in which ranks differ, with its least and greatest value.
  struct Difference {
    std::string name;
    double least = 0, greatest = 0;
  };
  [[nodiscard]] static std::optional<Difference> difference(std::span<const double> reduced,
                                                            const model::Catalogue& catalogue);

 private:
  int64_t step_ = 0;
  double time_ = 0;
  std::vector<double> scalars_;
};

}  // namespace pillion::simulation

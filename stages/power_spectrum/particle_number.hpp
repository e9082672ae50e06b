// SPDX-License-Identifier: BSD-3-Clause
// How many particles a density was made of, for its shot noise: a number, or what a field of the
// particles has at each step. Particles of different masses m count as (sum m)^2 / sum m^2 equal
// ones.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>

#include "../common/options.hpp"

namespace pillion::stages::power_spectrum {

class ParticleNumber {
 public:
  /// Of the parameter `shot_noise`; none if it is null.
  explicit ParticleNumber(const stage::Setup& setup) {
    const auto given = setup["shot_noise"];
    if (!given) return;
    is_wanted_ = true;
    const auto text = given.text();
    const bool is_number =
        std::from_chars(text.data(), text.data() + text.size(), number_).ec == std::errc();
    if (is_number) {
      number_ = given.real();
      if (!(number_ > 0)) given.fail("expected the number of particles, which is above 0");
      return;
    }
    const auto field = particle_field(setup, "shot_noise", 0, Numbers::real);
    if (field.components != 1 && field.components != 3)
      given.fail("field '" + text + "' has " + std::to_string(field.components) +
                 " components; expected masses, which have one, or positions, which have three");
    are_masses_ = field.components == 1;
    input_ = setup.input(stage::Input::as_shared({text}));
  }

  [[nodiscard]] bool is_wanted() const { return is_wanted_; }
  /// At a step; not a number if masses add up to nothing. [peers]
  [[nodiscard]] double at(const stage::Step& step) const {
    if (!input_) return number_;
    std::array<double, 3> sums{};  // of particles, masses and their squares
    for (int32_t b = 0; b < step.block_count(*input_); ++b) {
      const auto block = step.block(*input_, b);
      sums[0] += static_cast<double>(block.owned());
      if (are_masses_) add_masses(block, sums);
    }
    step.sum(std::span<double>(sums));
    return are_masses_ ? sums[1] * sums[1] / sums[2] : sums[0];
  }

 private:
  static void add_masses(const stage::Block& block, std::array<double, 3>& sums) {
    const auto& masses = block[0];
    masses.visit([&](const auto* data) {
      for (int64_t i = 0; i < block.owned(); ++i) {
        const auto mass = static_cast<double>(data[i * masses.strides[0]]);
        sums[1] += mass;
        sums[2] += mass * mass;
      }
    });
  }

  bool is_wanted_ = false, are_masses_ = false;
  double number_ = 0;
  std::optional<int32_t> input_;
};

}  // namespace pillion::stages::power_spectrum

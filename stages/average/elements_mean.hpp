// SPDX-License-Identifier: BSD-3-Clause
// Means over spectral elements: the quadrature of the field, which is exact for what the basis can
// represent on an element that is not deformed, over that of 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/elements.hpp"
#include "../common/jacobian.hpp"
#include "../common/legendre.hpp"

namespace pillion::stages {

class ElementsMean {
 public:
  ElementsMean(stage::Setup& setup, const pillion_field_description& field)
      : field_(field), basis_(field.order), jacobian_(basis_) {
    const std::string coordinates = field.coordinates;
    if (setup["onto"])
      setup["onto"].fail(
          "means over elements of a spectral mesh are on that mesh; leave `onto` out");
    if (coordinates.empty())
      setup["field"].fail("mesh '" + std::string(field.mesh) +
                          "' does not say which field holds its `coordinates`");
    coordinates_ = setup.field(coordinates, setup["field"]);
    const auto name = setup["field"].text();
    input_ = setup.input(stage::Input::as_shared({name, coordinates}));
    output_ = setup.output_centred(setup["into"].text(), name, PILLION_FLOAT64, field.components,
                                   PILLION_CELL, field.units);
  }

  void run(const stage::Step& step) {
    seen_.resize(static_cast<size_t>(step.block_count(input_)));
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      auto& seen = seen_[static_cast<size_t>(b)];
      weigh(block, seen);
      fill(block, seen, step.produce<double>(output_, input_, b));
    }
  }

 private:
  /// Of a block: coordinates, and what follows from them: each point's share of its element.
  struct Seen {
    std::vector<double> coordinates, shares;
  };

  [[nodiscard]] size_t points() const { return basis_.size() * basis_.size() * basis_.size(); }

  /// Elements that have not moved keep their shares.
  void weigh(const stage::Block& block, Seen& seen) {
    const size_t each = 3 * points();
    const auto count = static_cast<size_t>(block.count());
    seen.coordinates.resize(each * count);
    seen.shares.resize(points() * count, 0);
    std::vector<double> now(each);
    for (size_t e = 0; e < count; ++e) {
      read(block[1], coordinates_, e, now);
      double* before = seen.coordinates.data() + e * each;
      double* shares = seen.shares.data() + e * points();
      if (shares[0] != 0 && std::equal(now.begin(), now.end(), before)) continue;
      std::copy(now.begin(), now.end(), before);
      share(now, shares);
    }
  }

  void share(const std::vector<double>& coordinates, double* shares) {
    const double* x = coordinates.data();
    jacobian_.determinant(x, x + points(), x + 2 * points(), shares);
    const size_t n = basis_.size();
    double volume = 0;
    for (size_t p = 0; p < points(); ++p) {
      shares[p] *= basis_.weights[p % n] * basis_.weights[p / n % n] * basis_.weights[p / n / n];
      volume += shares[p];
    }
    for (size_t p = 0; p < points(); ++p) shares[p] /= volume;
  }

  /// All values of an element: components, each with its points.
  void read(const stage::Array& array, const pillion_field_description& field, size_t element,
            std::vector<double>& out) const {
    const auto a = unfolded(array, field);
    array.visit([&](const auto* data) {
      const auto* first = data + static_cast<int64_t>(element) * a.strides[1];
      auto to = out.begin();
      for (int32_t c = 0; c < field.components; ++c)
        for (size_t p = 0; p < points(); ++p)
          *to++ =
              static_cast<double>(first[c * a.strides[3] + static_cast<int64_t>(p) * a.strides[0]]);
    });
  }

  void fill(const stage::Block& block, const Seen& seen, double* out) const {
    std::vector<double> values(static_cast<size_t>(field_.components) * points());
    for (size_t e = 0; e < static_cast<size_t>(block.count()); ++e) {
      read(block[0], field_, e, values);
      const double* shares = seen.shares.data() + e * points();
      for (int32_t c = 0; c < field_.components; ++c) {
        const double* of_component = values.data() + static_cast<size_t>(c) * points();
        double sum = 0;
        for (size_t p = 0; p < points(); ++p) sum += shares[p] * of_component[p];
        *out++ = sum;
      }
    }
  }

  pillion_field_description field_, coordinates_{};
  LobattoBasis basis_;
  Jacobian jacobian_;
  int32_t input_ = 0, output_ = 0;
  std::vector<Seen> seen_;  ///< by block
};

}  // namespace pillion::stages

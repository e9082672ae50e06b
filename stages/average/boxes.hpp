// SPDX-License-Identifier: BSD-3-Clause
// Means over boxes of cells of a uniform mesh. A box belongs to the peer that has its first cell,
// which gets the others as ghost cells, so that every mean is one sum in one order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>

namespace pillion::stages {

class Boxes {
 public:
  Boxes(stage::Setup& setup, const pillion_field_description& field) : mesh_(field.mesh) {
    const auto onto = setup["onto"];
    if (!onto) setup["field"].fail("say onto which mesh: `onto: MESH`");
    const auto target = setup.mesh(onto.text(), onto);
    bool fits = target.mesh_kind == PILLION_UNIFORM && target.axes == field.axes;
    for (size_t d = 0; fits && d < static_cast<size_t>(field.axes); ++d) {
      side_[d] = field.cells[d] / target.cells[d];
      const double slack = 1e-9 * field.length[d];
      fits = side_[d] * target.cells[d] == field.cells[d] &&
             std::abs(target.length[d] - field.length[d]) <= slack &&
             std::abs(target.origin[d] - field.origin[d]) <= slack;
    }
    if (!fits)
      onto.fail("cells of mesh '" + onto.text() + "' are not boxes of whole cells of mesh '" +
                mesh_ + "'");
    components_ = field.components;
    input_ = setup.input(stage::Input::blocks({setup["field"].text()})
                             .with_ghosts({side_[0] - 1, side_[1] - 1, side_[2] - 1}));
    output_ = setup.output_of(setup["into"].text(), onto.text(), PILLION_FLOAT64, components_,
                              field.units);
  }

  /// Coarse publications, which lack most cells of a box, are left out.
  void run(const stage::Step& step) {
    if (step.coarsening(mesh_) != 1) return step.withhold();
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      std::array<int64_t, 3> lo{}, hi{};
      for (size_t d = 0; d < 3; ++d) {
        lo[d] = (block.inner_lo()[d] + side_[d] - 1) / side_[d];
        hi[d] = (block.inner_hi()[d] + side_[d] - 1) / side_[d];
      }
      if (lo[0] < hi[0] && lo[1] < hi[1] && lo[2] < hi[2]) fill(step, block, lo, hi);
    }
  }

 private:
  using Index = std::array<int64_t, 3>;

  void fill(const stage::Step& step, const stage::Block& block, const Index& lo, const Index& hi) {
    auto* out = step.produce_box<double>(output_, lo, hi);
    const auto array = block[0];
    const auto& stride = array.strides;
    array.visit([&](const auto* data) {
      for (int64_t k = lo[2]; k < hi[2]; ++k)
        for (int64_t j = lo[1]; j < hi[1]; ++j)
          for (int64_t i = lo[0]; i < hi[0]; ++i) {
            const auto* first = data + (i * side_[0] - block.lo()[0]) * stride[0] +
                                (j * side_[1] - block.lo()[1]) * stride[1] +
                                (k * side_[2] - block.lo()[2]) * stride[2];
            for (int32_t c = 0; c < components_; ++c) *out++ = mean(first + c * stride[3], stride);
          }
    });
  }

  template <class T>
  [[nodiscard]] double mean(const T* first, const int64_t* stride) const {
    double sum = 0;
    for (int64_t k = 0; k < side_[2]; ++k)
      for (int64_t j = 0; j < side_[1]; ++j)
        for (int64_t i = 0; i < side_[0]; ++i)
          sum += static_cast<double>(first[i * stride[0] + j * stride[1] + k * stride[2]]);
    return sum / static_cast<double>(side_[0] * side_[1] * side_[2]);
  }

  std::string mesh_;
  Index side_{1, 1, 1};  ///< cells of a box
  int32_t components_ = 1, input_ = 0, output_ = 0;
};

}  // namespace pillion::stages

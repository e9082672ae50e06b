// SPDX-License-Identifier: BSD-3-Clause
// The stage `magnitude`: makes a scalar field of a vector field, on the same blocks. It is for
// later stages of its chain; run in the simulation it lets one number per element cross the cut
// instead of three.
#include <algorithm>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>

#include "../common/elements.hpp"
#include "../common/options.hpp"

namespace pillion::stages::magnitude {
namespace {

class Magnitude final : public stage::Stage {
 public:
  explicit Magnitude(stage::Setup& setup)
      : field_(field_of(setup, "field", 0, Numbers::any)),
        type_(field_.type == PILLION_FLOAT32 ? PILLION_FLOAT32 : PILLION_FLOAT64) {
    const auto name = setup["field"].text();
    input_ = setup.input(stage::Input::as_shared({name}).with_levels().with_points());
    output_ = setup.output(setup["into"].text(), name, type_, 1, field_.units);
  }

  void run(stage::Step& step) override {
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      if (type_ == PILLION_FLOAT32) fill<float>(step, b);
      else fill<double>(step, b);
    }
  }

 private:
  template <class T>
  void fill(const stage::Step& step, int32_t number) const {
    const auto block = step.block(input_, number);
    T* out = step.produce<T>(output_, input_, number);
    for_each_stretch(unfolded(block[0], field_), extent_of(block, field_), magnitude_of_all,
                     [&](std::span<const double> values) {
                       for (const double v : values) *out++ = static_cast<T>(v);
                     });
  }

  pillion_field_description field_;
  pillion_type type_;
  int32_t input_ = 0, output_ = 0;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Field with several components"},
    {"into", "name", nullptr, "Name of the field that is made"},
};

}  // namespace
}  // namespace pillion::stages::magnitude

PILLION_STAGE(pillion::stages::magnitude::Magnitude, "magnitude",
              "Magnitude of a vector field, as a new field", pillion::stages::magnitude::parameters)

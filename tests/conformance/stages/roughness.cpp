// SPDX-License-Identifier: BSD-3-Clause
// A stage that needs neighbours: the root mean square of a field's differences from the mean of the
// cells around it. docs/howto-stage.md shows it.
#include <cmath>
#include <pillion/stage.hpp>

namespace {

namespace stage = pillion::stage;

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "one float64 component, on a uniform mesh"},
};

class Roughness : public stage::Stage {
 public:
  // [setup]
  explicit Roughness(stage::Setup& setup) : name_(setup["field"].text()) {
    const auto field = setup.field(name_, setup["field"]);
    if (field.type != PILLION_FLOAT64 || field.components != 1)
      setup["field"].fail("roughness wants one float64 component");
    input_ = setup.input(stage::Input::blocks({name_}).with_ghosts({1, 1, 1}));
  }
  // [setup]

  void run(stage::Step& step) override {
    std::vector<double> sums(2);  // of squares, and of cells
    for (int32_t b = 0; b < step.block_count(input_); ++b) add(step.block(input_, b), sums);
    step.sum(std::span(sums));
    steps_.push_back(step.index());
    roughness_.push_back(std::sqrt(sums[0] / sums[1]));
  }
  void finish(stage::Step& step) override {
    step.write(stage::Table("roughness")
                   .column("step", "", steps_)
                   .column("roughness", step.units(name_), roughness_));
  }

 private:
  // [neighbours]
  static void add(const stage::Block& block, std::vector<double>& sums) {
    const double* values = block.values<double>(0).data();
    const int64_t *lo = block.lo(), *hi = block.hi();
    const auto& stride = block[0].strides;
    int64_t at[3];
    for (at[2] = block.inner_lo()[2]; at[2] < block.inner_hi()[2]; ++at[2])
      for (at[1] = block.inner_lo()[1]; at[1] < block.inner_hi()[1]; ++at[1])
        for (at[0] = block.inner_lo()[0]; at[0] < block.inner_hi()[0]; ++at[0]) {
          const double* cell = values;
          for (int d = 0; d < 3; ++d) cell += (at[d] - lo[d]) * stride[d];
          double around = 0, count = 0;
          for (int d = 0; d < 3; ++d) {
            if (at[d] > lo[d]) around += cell[-stride[d]], ++count;
            if (at[d] < hi[d] - 1) around += cell[stride[d]], ++count;
          }
          const double difference = count > 0 ? *cell - around / count : 0;
          sums[0] += difference * difference;
          sums[1] += 1;
        }
  }
  // [neighbours]

  std::string name_;
  int32_t input_ = 0;
  std::vector<int64_t> steps_;
  std::vector<double> roughness_;
};

}  // namespace

PILLION_STAGE(Roughness, "roughness", "How far a field is from the mean of its neighbours",
              parameters)

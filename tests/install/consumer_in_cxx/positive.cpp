// SPDX-License-Identifier: BSD-3-Clause
// A stage of somebody else's: how many values of a one-dimensional real field are positive.
#include <iterator>
#include <pillion/stage.hpp>

namespace {

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "a field of type float64 with one component"}};

class Positive : public pillion::stage::Stage {
 public:
  explicit Positive(pillion::stage::Setup& setup) {
    const auto field = setup["field"];
    const auto description = setup.field(field.text(), field);
    if (description.type != PILLION_FLOAT64 || description.components != 1)
      field.fail("'" + field.text() + "' must be of type float64 and have one component");
    input_ = setup.input(pillion::stage::Input::as_shared({field.text()}));
  }

  void run(pillion::stage::Step& step) override {
    int64_t count = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      for (int64_t i = 0; i < block.hi()[0] - block.lo()[0]; ++i)
        count += block[0].at<double>(i) > 0 ? 1 : 0;
    }
    step.sum(std::span(&count, 1));
    pillion::stage::Table table("positive", "Positive values");
    table.column("step", "", std::vector<int64_t>{step.index()});
    table.column("count", "", std::vector<int64_t>{count});
    step.write(table);
  }

 private:
  int32_t input_ = 0;
};

}  // namespace

PILLION_STAGE(Positive, "positive", "Counts the positive values of a field.", parameters)

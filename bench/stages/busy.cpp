// SPDX-License-Identifier: BSD-3-Clause
// An analysis that takes a given number of operations, for benches. Its ranks divide them,
// or each does them all, as an analysis does that cannot be divided.
#include "../busy.hpp"

#include <limits>
#include <pillion/stage.hpp>

namespace {

using namespace pillion;

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "The field that is read; float64"},
    {"operations", "integer", nullptr, "Multiply-adds at each publication"},
    {"divided", "boolean", nullptr, "Whether ranks divide them"},
};

class Busy final : public stage::Stage {
 public:
  explicit Busy(stage::Setup& setup)
      : operations_(setup["operations"].integer()), divided_(setup["divided"].boolean()) {
    const std::string field = setup["field"].text();
    (void)setup.field(field, setup["field"]);
    input_ = setup.input(stage::Input::as_shared({field}));
  }

  void run(stage::Step& step) override {
    int64_t values[2] = {0, 0};
    for (int32_t b = 0; b < step.block_count(input_); ++b)
      values[0] += size_of(step.block(input_, b));
    values[1] = values[0];
    step.sum(std::span(values).last(1));
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const int64_t whole = divided_ ? values[1] : values[0];
      sum_ += bench::busy(static_cast<const double*>(block[0].data), size_of(block),
                          operations_ * size_of(block) / whole);
    }
  }
  void finish(stage::Step& step) override {
    stage::Table table("busy", "What a chain of multiply-adds came to");
    table.column("value", "", std::vector<double>{sum_});
    step.write(table);
  }

 private:
  static int64_t size_of(const stage::Block& block) { return block.hi()[0] - block.lo()[0]; }
  int64_t operations_;
  bool divided_;
  int32_t input_ = 0;
  double sum_ = 0;
};

}  // namespace

PILLION_STAGE(Busy, "busy", "Takes a given number of operations", parameters)

// SPDX-License-Identifier: BSD-3-Clause
// A stage from nothing: which fraction of a field's values lies above each of some thresholds, at
// every publication. docs/howto-stage.md walks through it. It has all that a stage can have but a
// field as output: parameters, an input, a reduction, a product, and state that outlives a restart.
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace pillion;

// [parameters]
const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "The field; one component, of any type, on any mesh"},
    {"above", "list of numbers", nullptr, "The thresholds, in the field's units"},
};
// [parameters]

class Exceedance final : public stage::Stage {
 public:
  // [setup]
  explicit Exceedance(stage::Setup& setup) {
    const stage::Value field = setup["field"], above = setup["above"];
    name_ = field.text();
    description_ = setup.field(name_, field);
    if (description_.components != 1)
      field.fail("'" + name_ + "' has " + std::to_string(description_.components) +
                 " components; exceedance wants one");
    if (!above.is_list() || above.size() == 0) above.fail("expected a list of thresholds");
    for (int64_t i = 0; i < above.size(); ++i) thresholds_.push_back(above[i].real());
    fractions_.resize(thresholds_.size());
    input_ = setup.input(stage::Input::as_shared({name_}));
    setup.product("exceedance_" + name_ + ".csv");
  }
  // [setup]

  // [run]
  void run(stage::Step& step) override {
    std::vector<int64_t> counts(thresholds_.size() + 1);  // the last one counts all values
    for (int32_t b = 0; b < step.block_count(input_); ++b) count(step.block(input_, b), counts);
    step.sum(std::span(counts));
    steps_.push_back(step.index());
    times_.push_back(step.time());
    for (size_t i = 0; i < thresholds_.size(); ++i)
      fractions_[i].push_back(static_cast<double>(counts[i]) / static_cast<double>(counts.back()));
    if (step.products_due()) write(step);
  }
  void finish(stage::Step& step) override { write(step); }
  // [run]

  // [state]
  void save(stage::State& state) const override {
    state.save("steps", steps_);
    state.save("times", times_);
    for (size_t i = 0; i < fractions_.size(); ++i)
      state.save("fractions_" + std::to_string(i), fractions_[i]);
  }
  void restore(stage::State& state) override {
    steps_ = state.load<int64_t>("steps");
    times_ = state.load<double>("times");
    for (size_t i = 0; i < fractions_.size(); ++i)
      fractions_[i] = state.load<double>("fractions_" + std::to_string(i));
  }
  // [state]

 private:
  // [values]
  void count(const stage::Block& block, std::vector<int64_t>& counts) const {
    int64_t size[3] = {1, 1, 1};
    if (description_.mesh_kind != PILLION_UNIFORM) size[0] = block.count();
    else
      for (int axis = 0; axis < description_.axes; ++axis)
        size[axis] = block.hi()[axis] - block.lo()[axis];
    const stage::Array array = block[0];
    const int64_t* stride = array.strides;
    array.visit([&](const auto* values) {
      for (int64_t k = 0; k < size[2]; ++k)
        for (int64_t j = 0; j < size[1]; ++j)
          for (int64_t i = 0; i < size[0]; ++i)
            for (int64_t p = 0; p < array.components; ++p)  // points of a spectral element
              count(static_cast<double>(
                        values[i * stride[0] + j * stride[1] + k * stride[2] + p * stride[3]]),
                    counts);
    });
  }
  // [values]
  void count(double value, std::vector<int64_t>& counts) const {
    for (size_t i = 0; i < thresholds_.size(); ++i) counts[i] += value > thresholds_[i] ? 1 : 0;
    ++counts.back();
  }

  // [product]
  void write(const stage::Step& step) const {
    stage::Table table("exceedance_" + name_, "Fraction of " + name_ + " above thresholds");
    table.column("step", "", std::span(steps_));
    table.column("time", step.units("time"), std::span(times_));
    for (size_t i = 0; i < thresholds_.size(); ++i) {
      table.column("fraction_" + std::to_string(i), "", std::span(fractions_[i]));
      table.attribute("above_" + std::to_string(i), thresholds_[i], step.units(name_));
    }
    step.write(table.growing());
  }
  // [product]

  std::string name_;
  pillion_field_description description_{};
  std::vector<double> thresholds_;
  int32_t input_ = 0;
  std::vector<int64_t> steps_;
  std::vector<double> times_;
  std::vector<std::vector<double>> fractions_;  // by threshold, then by step
};

}  // namespace

// [export]
PILLION_STAGE(Exceedance, "exceedance", "Fraction of a field's values above thresholds", parameters)
// [export]

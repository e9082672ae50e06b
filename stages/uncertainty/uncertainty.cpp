// SPDX-License-Identifier: BSD-3-Clause
// The stage `uncertainty`: from the autocovariances that the stage `autocorrelation` has gathered,
// the error of each series' mean, its interval of confidence and its integral time scale, as fields
// and, over all series, as a table. See README.md here.
#include <array>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/autocovariance.hpp"
#include "../common/options.hpp"
#include "history.hpp"
#include "mean_error.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;

class Uncertainty final : public stage::Stage {
 public:
  explicit Uncertainty(stage::Setup& setup)
      : name_(setup["field"].text()),
        field_(field_of(setup, "field", 0, Numbers::real)),
        confidence_(setup["confidence"].real()),
        history_(field_.components) {
    if (!(confidence_ > 0 && confidence_ < 1))
      setup["confidence"].fail("expected a probability between 0 and 1, not " +
                               setup["confidence"].text());
    const auto from = setup["from"];
    const auto gathered = from ? from.text() : autocovariance::default_name(name_);
    gathered_ = setup.field(gathered, from ? from : setup["field"]);
    lags_ = gathered_.components / field_.components - autocovariance::components(0);
    if (lags_ < 1 ||
        gathered_.components != field_.components * autocovariance::components(lags_) ||
        std::string(gathered_.mesh) != field_.mesh)
      (from ? from : setup["field"])
          .fail("field '" + gathered + "' is not what the stage autocorrelation makes of '" +
                name_ + "'");
    input_ = setup.input(stage::Input::as_shared({gathered}));
    const auto into = setup["into"] ? setup["into"].text() : name_;
    const auto real = [&](const char* what, const std::string& units) {
      return setup.output(into + what, gathered, PILLION_FLOAT64, field_.components, units);
    };
    outputs_ = {real("_mean", field_.units), real("_sigma", field_.units),
                real("_interval", field_.units), real("_integral_steps", "")};
    setup.product("uncertainty_" + name_ + ".csv");
    verdict_ = setup.output(into + "_verdict", gathered, PILLION_INT32, field_.components, "");
  }

  void run(stage::Step& step) override {
    std::vector<Found> found(static_cast<size_t>(field_.components));
    const auto samples = samples_of(step);
    ErrorOfMean error(static_cast<int64_t>(samples.count), static_cast<size_t>(lags_), confidence_);
    for (int32_t b = 0; b < step.block_count(input_); ++b) look_at(step, b, samples, error, found);
    history_.append(step, samples, found);
    step.write(history_.table(step, name_, confidence_));
  }

  void save(stage::State& state) const override { history_.save(state); }
  void restore(stage::State& state) override { history_.restore(state); }

 private:
  /// What is common to all series, from whichever peer has one. [peers]
  [[nodiscard]] Samples samples_of(const stage::Step& step) const {
    std::vector<double> common(4, -1);
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      if (block.count() == 0) continue;
      const std::array numbers = {autocovariance::samples, autocovariance::missing,
                                  autocovariance::spacing_steps, autocovariance::spacing_time};
      const auto array = unfolded(block[0], gathered_);
      for (size_t i = 0; i < numbers.size(); ++i)
        common[i] = static_cast<const double*>(array.data)[numbers[i] * array.strides[3]];
    }
    step.max(std::span(common));
    return {common[0], common[1], common[2], common[3]};
  }

  void look_at(const stage::Step& step, int32_t number, const Samples& samples, ErrorOfMean& error,
               std::vector<Found>& found) const {
    const auto block = step.block(input_, number);
    const auto array = unfolded(block[0], gathered_);
    const int64_t points = points_of(gathered_), components = field_.components;
    const auto n = extent_of(block, gathered_);
    std::array<double*, 4> out{};
    for (size_t o = 0; o < out.size(); ++o)
      out[o] = step.produce<double>(outputs_[o], input_, number);
    auto* verdict = step.produce<int32_t>(verdict_, input_, number);
    std::vector<double> numbers(static_cast<size_t>(autocovariance::components(lags_)));
    const auto* data = static_cast<const double*>(array.data);
    for (int64_t k = 0; k < n[2]; ++k)
      for (int64_t j = 0; j < n[1]; ++j)
        for (int64_t i = 0; i < n[0]; ++i)
          for (int64_t c = 0; c < components; ++c) {
            const auto* from = data + i * array.strides[0] + j * array.strides[1] +
                               k * array.strides[2] +
                               c * static_cast<int64_t>(numbers.size()) * array.strides[3];
            for (size_t r = 0; r < numbers.size(); ++r)
              numbers[r] = from[static_cast<int64_t>(r) * array.strides[3]];
            const double mean = numbers[autocovariance::mean];
            const auto judged = error.of(
                {mean, std::span(numbers).subspan(autocovariance::first_lag),
                 numbers[autocovariance::batch_variance], numbers[autocovariance::batches]});
            const int64_t cell = i + n[0] * (j + n[1] * k);
            const int64_t at = (cell / points * components + c) * points + cell % points;
            out[0][at] = mean;
            out[1][at] = judged.sigma;
            out[2][at] = judged.reach;
            out[3][at] = judged.inefficiency / 2 * samples.spacing_steps;
            verdict[at] = static_cast<int32_t>(judged.verdict);
            found[static_cast<size_t>(c)].add(mean, judged);
          }
  }

  std::string name_;
  pillion_field_description field_, gathered_;
  double confidence_;
  int64_t lags_ = 0;
  int32_t input_ = 0, verdict_ = 0;
  std::array<int32_t, 4> outputs_{};
  History history_;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "The field that `autocorrelation` samples; it is not read here"},
    {"from", "field", "null", "What `autocorrelation` made; null is FIELD_autocovariance"},
    {"confidence", "number", "0.95", "Probability that the interval holds the true mean"},
    {"into", "name", "null",
     "What the names of fields that are made begin with: INTO_mean, INTO_sigma, INTO_interval, "
     "INTO_integral_steps, INTO_verdict; null is FIELD"},
};

}  // namespace

PILLION_STAGE(Uncertainty, "uncertainty", "Standard error and confidence interval of time averages",
              parameters)

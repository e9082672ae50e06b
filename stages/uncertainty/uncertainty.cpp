// SPDX-License-Identifier: BSD-3-Clause
// The stage `uncertainty`: from the autocovariances that the stage `autocorrelation` has gathered,
// the error of each series' mean, its interval of confidence and its integral time scale, as fields
// and, over all series, as a table. See README.md here.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/autocovariance.hpp"
#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/rows.hpp"
#include "../common/volumes.hpp"
#include "mean_error.hpp"

namespace pillion::stages::uncertainty {

// Medians of values that lie on many peers: exact, whatever peer has which, by narrowing down where
// among all doubles they are. No values move.

namespace detail {

/// Doubles in their order, as integers.
inline int64_t rank_of(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}
inline double of_rank(int64_t rank) {
  return std::bit_cast<double>(rank >= 0 ? rank : std::numeric_limits<int64_t>::min() - rank);
}

/// Where a median is known to be: in (below, to], as ranks.
struct Bracket {
  int64_t below, to;
  [[nodiscard]] int64_t probe(int64_t i, int64_t probes) const {
    const auto width = static_cast<uint64_t>(to) - static_cast<uint64_t>(below);
    const uint64_t part = width / static_cast<uint64_t>(probes + 1);
    const uint64_t rest = width % static_cast<uint64_t>(probes + 1);
    const auto n = static_cast<uint64_t>(i + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(below) + part * n +
                                rest * n / static_cast<uint64_t>(probes + 1));
  }
};

}  // namespace detail

/// The lower median of each set of values over all peers, NaN if there are none; sets are sorted
/// here and hold no NaN. [peers]
inline std::vector<double> medians(const stage::Step& step,
                                   std::vector<std::vector<double>>& sets) {
  constexpr int64_t probes = 15;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<int64_t> counts;
  for (auto& set : sets) {
    std::sort(set.begin(), set.end());
    counts.push_back(static_cast<int64_t>(set.size()));
  }
  step.sum(std::span(counts));
  std::vector<detail::Bracket> brackets(
      sets.size(), {detail::rank_of(-infinite) - 1, detail::rank_of(infinite)});
  const auto is_open = [](const auto& b) {
    return static_cast<uint64_t>(b.to) - static_cast<uint64_t>(b.below) > 1;
  };
  while (std::any_of(brackets.begin(), brackets.end(), is_open)) {
    std::vector<int64_t> up_to;
    for (size_t s = 0; s < sets.size(); ++s)
      for (int64_t i = 0; i < probes; ++i) {
        const double probe = detail::of_rank(brackets[s].probe(i, probes));
        up_to.push_back(std::upper_bound(sets[s].begin(), sets[s].end(), probe) - sets[s].begin());
      }
    step.sum(std::span(up_to));
    for (size_t s = 0; s < sets.size(); ++s) {
      auto narrow = brackets[s];
      for (int64_t i = probes; i-- > 0;) {
        const int64_t at = brackets[s].probe(i, probes);
        const bool enough = 2 * up_to[s * probes + static_cast<size_t>(i)] >= counts[s];
        if (enough) narrow.to = std::min(narrow.to, at);
        else narrow.below = std::max(narrow.below, at);
      }
      brackets[s] = narrow;
    }
  }
  std::vector<double> out;
  for (size_t s = 0; s < sets.size(); ++s)
    out.push_back(counts[s] > 0 ? detail::of_rank(brackets[s].to)
                                : std::numeric_limits<double>::quiet_NaN());
  return out;
}

// The table of `uncertainty`: a row for each time that errors were estimated, over all series of
// each component.

/// What this peer found of one component's series.
struct Found {
  double sum_of_means = 0, means = 0;  ///< of the finite ones, weighted, and their weights
  double greatest = 0;                 ///< sigma
  std::vector<double> sigmas, reaches, inefficiencies;
  std::vector<int64_t> verdicts = std::vector<int64_t>(uncertainty::verdicts);

  void add(double mean, double weight, const MeanError& error) {
    ++verdicts[static_cast<size_t>(error.verdict)];
    if (std::isfinite(mean)) sum_of_means += mean * weight, means += weight;
    if (error.verdict == Verdict::unknown || error.verdict == Verdict::constant) return;
    greatest = std::max(greatest, error.sigma);
    sigmas.push_back(error.sigma);
    reaches.push_back(error.reach);
    inefficiencies.push_back(error.inefficiency);
  }
};

/// What is common to all series.
struct Samples {
  double count = 0, missing = 0, spacing_steps = 0, spacing_time = 0;
};

class ErrorHistory {
 public:
  explicit ErrorHistory(int32_t components) : components_(components) {}

  /// [peers]
  void append(const stage::Step& step, const std::string& field, const Samples& samples,
              std::vector<Found>& found) {
    std::vector<double> sums, greatest;
    std::vector<int64_t> verdicts;
    std::vector<std::vector<double>> sets;
    for (auto& f : found) {
      sums.insert(sums.end(), {f.sum_of_means, f.means});
      greatest.push_back(f.greatest);
      verdicts.insert(verdicts.end(), f.verdicts.begin(), f.verdicts.end());
      for (auto* set : {&f.sigmas, &f.reaches, &f.inefficiencies}) sets.push_back(std::move(*set));
    }
    step.sum(std::span(sums));
    step.max(std::span(greatest));
    step.sum(std::span(verdicts));
    const auto middle = medians(step, sets);
    const auto units = step.units(field), time = step.units("time");
    rows_.add("step", "", step.index());
    rows_.add("time", time, step.time());
    rows_.add("samples", "", static_cast<int64_t>(samples.count));
    rows_.add("missing", "", static_cast<int64_t>(samples.missing));
    for (size_t c = 0; c < found.size(); ++c) {
      const auto end = ending_of(static_cast<int32_t>(c), components_);
      // Half of Delta (1 + 2 sum rho): the integral over lags by the trapezoidal rule.
      const double lags = middle[3 * c + 2] / 2;
      rows_.add("mean" + end, units, sums[2 * c] / sums[2 * c + 1]);
      rows_.add("sigma_median" + end, units, middle[3 * c]);
      rows_.add("sigma_max" + end, units, greatest[c]);
      rows_.add("interval_median" + end, units, middle[3 * c + 1]);
      rows_.add("integral_time_median" + end, time, lags * samples.spacing_time);
      rows_.add("integral_steps_median" + end, "", lags * samples.spacing_steps);
      const char* names[] = {"fitted", "unresolved", "misfit", "constant", "unknown"};
      for (size_t v = 0; v < uncertainty::verdicts; ++v)
        rows_.add(names[v] + end, "", verdicts[c * uncertainty::verdicts + v]);
    }
    rows_.end_row();
  }

  [[nodiscard]] stage::Table table(const std::string& field, double confidence) const {
    stage::Table out("uncertainty_" + field, "Uncertainty of time averages of " + field);
    rows_.put_into(out);
    out.attribute("confidence", confidence);
    return out;
  }

  void save(const stage::State& state) const { rows_.save(state); }
  void restore(const stage::State& state) { rows_.restore(state); }

 private:
  int32_t components_;
  Rows rows_;
};

namespace {

class Uncertainty final : public stage::Stage {
 public:
  explicit Uncertainty(stage::Setup& setup)
      : name_(setup["field"].text()),
        field_(field_of(setup, "field", 0, Numbers::real)),
        mesh_(field_.mesh),
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
    volumes_ = VolumesByMesh().cells(setup, gathered_);
    input_ = setup.input(blocks_of_cells(gathered_, {gathered}));
    const auto into = setup["into"] ? setup["into"].text() : name_;
    const auto real = [&](const char* what, const std::string& units) {
      return setup.output(into + what, gathered, PILLION_FLOAT64, field_.components, units);
    };
    outputs_ = {real("_mean", field_.units), real("_sigma", field_.units),
                real("_interval", field_.units), real("_integral_steps", "")};
    setup.product("uncertainty_" + name_ + ".csv");
    setup.survives_failures();
    verdict_ = setup.output(into + "_verdict", gathered, PILLION_INT32, field_.components, "");
  }

  void run(stage::Step& step) override {
    std::vector<Found> found(static_cast<size_t>(field_.components));
    const auto samples = samples_of(step);
    ErrorOfMean error(static_cast<int64_t>(samples.count), static_cast<size_t>(lags_), confidence_);
    for (int32_t b = 0; b < step.block_count(input_); ++b) look_at(step, b, samples, error, found);
    history_.append(step, name_, samples, found);
    step.write(history_.table(name_, confidence_));
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
    const auto& mesh = step.mesh(mesh_);
    const auto weights = volumes_ ? volumes_->weights(step, mesh, block, PILLION_CELL)
                                  : weights_of(mesh, gathered_, block);
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
            if (weights.flags == nullptr || weights.counts(i, j, k))
              found[static_cast<size_t>(c)].add(mean, weights.of(i, j, k), judged);
          }
  }

  std::string name_;
  pillion_field_description field_, gathered_;
  std::string mesh_;
  double confidence_;
  int64_t lags_ = 0;
  int32_t input_ = 0, verdict_ = 0;
  std::array<int32_t, 4> outputs_{};
  ErrorHistory history_;
  std::shared_ptr<CellVolumes> volumes_;  ///< of an unstructured or curvilinear mesh
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
}  // namespace pillion::stages::uncertainty

PILLION_STAGE(pillion::stages::uncertainty::Uncertainty, "uncertainty",
              "Standard error and confidence interval of time averages",
              pillion::stages::uncertainty::parameters)

// SPDX-License-Identifier: BSD-3-Clause
// The stage `autocorrelation`: gathers mean, variance, autocovariances and batch means of the
// series that the values of each cell, element or point make over the steps. Every given number of
// samples it passes its results, as a field, to `uncertainty`, and nothing in between. See
// README.md here.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../common/autocovariance.hpp"
#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/followed.hpp"
#include "../common/options.hpp"
#include "series.hpp"
#include "spacing.hpp"

namespace pillion::stages::autocorrelation {

namespace {

class Autocorrelation final : public stage::Stage {
 public:
  explicit Autocorrelation(stage::Setup& setup)
      : field_(field_of(setup, "field", 0, Numbers::real)),
        name_(setup["field"].text()),
        mesh_(field_.mesh),
        lags_(integer_from(setup["lags"], 1, 10'000)),
        fit_every_(integer_from(setup["fit_every"], 1, most_counted)),
        from_step_(setup["from_step"].integer()),
        followed_(field_, when_cells_change(setup)),
        series_(static_cast<size_t>(lags_)) {
    const auto& name = name_;
    if (is_unstructured(field_) && field_.centering == PILLION_POINT)
      setup["field"].fail(
          "field '" + name + "' has values at points of mesh '" + mesh_ +
          "', and blocks share points. Follow the means over cells, which `average` makes");
    if (!has_boxes(field_) && !has_placed_points(field_) && field_.mesh_kind != PILLION_SPECTRAL)
      setup["field"].fail("field '" + name + "' has no cells and no elements");
    const auto into = setup["into"];
    input_ = setup.input(blocks_of_cells(field_, fields_of(setup, name)));
    output_ =
        setup.output(into ? into.text() : autocovariance::default_name(name), name, PILLION_FLOAT64,
                     field_.components * autocovariance::components(lags_), field_.units);
    const auto numbers = static_cast<double>(series_.record_size() + 2);
    // The series, and again as records when blocks move.
    setup.memory(2 * 8 * numbers * field_.components / bytes_of(setup, {name}));
    setup.survives_failures();
  }

  void run(stage::Step& step) override {
    const bool counts = step.index() >= from_step_ && step.coarsening(mesh_) == 1;
    if (counts) take(step);
    if (counts && series_.samples() % fit_every_ == 0) produce(step);
    else step.withhold();
  }

  void save(stage::State& state) const override {
    const auto records = records_.empty() ? packed() : records_;
    state.save("parameters", parameters());
    state.save("field", std::vector<char>(name_.begin(), name_.end()));
    state.save("series", std::span<const int64_t>(keys_), std::span<const double>(records),
               series_.record_size());
    state.save("counters", series_.counters());
    followed_.save(state);
    state.save("spacing_integers", spacing_.integers());
    state.save("spacing_reals", spacing_.reals());
  }
  void restore(stage::State& state) override {
    const auto field = state.load<char>("field");
    if (state.load<int64_t>("parameters") != parameters() ||
        name_ != std::string(field.begin(), field.end()))
      throw Error(ErrorCode::Configuration,
                  "saved with other lags, another field or steps to leave out than those of this "
                  "run; what it gave cannot be continued");
    std::tie(keys_, records_) = state.load<double>("series", series_.record_size());
    followed_.restore(state);
    series_.restore(state.load<int64_t>("counters"));
    spacing_.restore(state.load<int64_t>("spacing_integers"), state.load<double>("spacing_reals"));
  }

 private:
  /// Elements are followed by their numbers, cells by where they are.
  [[nodiscard]] std::vector<std::string> fields_of(const stage::Setup& setup,
                                                   const std::string& name) const {
    if (field_.mesh_kind != PILLION_SPECTRAL) return {name};
    const auto key = setup["key"];
    const auto number =
        field_of(setup, "key", 1, Numbers::integer, "series on a spectral mesh need it");
    if (mesh_ != number.mesh || number.centering != PILLION_CELL)
      key.fail("field '" + key.text() + "' does not number the elements of mesh '" + mesh_ + "'");
    return {name, key.text()};
  }

  [[nodiscard]] std::vector<int64_t> parameters() const {
    return {lags_, field_.components, from_step_};
  }

  void take(const stage::Step& step) {
    follow(step);
    switch (spacing_.see(step.index(), step.time(), step.interval())) {
      case Spacing::Verdict::next: break;
      case Spacing::Verdict::gap: series_.cut(); break;
      case Spacing::Verdict::restart: start_again(); break;
    }
    size_t at = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto array = step.block(input_, b)[0];
      array.visit([&](const auto* data) {
        followed_.places().for_each_run(b, unfolded(array, field_), data,
                                        [&](const auto* values, int64_t stride, size_t count) {
                                          series_.take(at, count, values, stride);
                                          at += count;
                                        });
      });
    }
    series_.advance();
  }

  void start_again() {
    const size_t count = series_.count();
    series_ = LaggedSeries(static_cast<size_t>(lags_));
    series_.resize(count);
  }

  /// Sees to it that the series are those of the blocks that are here now. All of them have as many
  /// samples, so all begin again where some cells are new.
  void follow(const stage::Step& step) {
    const bool has_samples = series_.samples() > 0;
    auto change = followed_.look(step, input_, has_samples);
    if (!change) return;
    auto wanted = change->places.keys();
    const bool begins_again = has_samples && change->others > 0;
    std::vector<double> records;
    if (has_samples && !begins_again) {
      if (records_.empty()) records_ = packed();
      records = step.fetch(std::span<const int64_t>(keys_), std::span<const double>(records_),
                           series_.record_size(), wanted);
    }
    // Not before: records are of the places that were, if they cannot be fetched.
    followed_.accept(std::move(*change));
    keys_ = std::move(wanted);
    if (begins_again) series_ = LaggedSeries(static_cast<size_t>(lags_));
    series_.resize(keys_.size());
    const size_t width = series_.record_size();
    for (size_t s = 0; width * s < records.size(); ++s) series_.unpack(s, &records[width * s]);
    records_ = {};
  }

  [[nodiscard]] std::vector<double> packed() const {
    const size_t width = series_.record_size();
    std::vector<double> out(width * series_.count());
    for (size_t s = 0; s < series_.count(); ++s) series_.pack(s, &out[width * s]);
    return out;
  }

  void produce(const stage::Step& step) {
    series_.flush();
    const auto numbers = static_cast<int64_t>(autocovariance::components(lags_));
    const int64_t points = followed_.places().points(), components = field_.components;
    std::vector<Row> rows(series_.estimate_rows());
    size_t s = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      auto* out = step.produce<double>(output_, input_, b);
      if (is_unstructured(field_)) fill(out, step.block(input_, b).count(), rows);
      for (int64_t c = 0; c < components; ++c)
        for (int64_t unit = 0; unit < followed_.places().units(b); ++unit)
          for (int64_t p = 0; p < points; ++p, ++s) {
            if (s % lanes == 0) series_.estimate(s / lanes, rows);
            const int64_t at = followed_.places().position(b, unit);
            write(out + (at * components + c) * numbers * points + p, points, rows, s % lanes);
          }
    }
  }

  /// What cells have that no series belongs to.
  void fill(double* out, int64_t cells, std::vector<Row> rows) const {
    for (auto& row : rows) std::fill_n(row.x, lanes, std::numeric_limits<double>::quiet_NaN());
    const auto numbers = static_cast<int64_t>(autocovariance::components(lags_));
    for (int64_t at = 0; at < cells * field_.components; ++at)
      write(out + at * numbers, 1, rows, 0);
  }

  void write(double* out, int64_t stride, const std::vector<Row>& rows, size_t lane) const {
    out[autocovariance::samples * stride] = static_cast<double>(series_.samples());
    out[autocovariance::missing * stride] = static_cast<double>(spacing_.missing());
    out[autocovariance::spacing_steps * stride] = spacing_.steps();
    out[autocovariance::spacing_time * stride] = spacing_.time();
    out[autocovariance::batches * stride] = static_cast<double>(series_.batches().full);
    out += autocovariance::mean * stride;
    for (const auto& row : rows) {
      *out = row.x[lane];
      out += stride;
    }
  }

  pillion_field_description field_;
  std::string name_, mesh_;
  int64_t lags_, fit_every_, from_step_;
  int32_t input_ = 0, output_ = 0;
  Followed followed_;
  LaggedSeries series_;
  Spacing spacing_;
  std::vector<int64_t> keys_;    ///< of the series, or of records that are on their way to them
  std::vector<double> records_;  ///< from a checkpoint, until blocks are known
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr,
     "Field of reals at cells of any mesh, or on a spectral one; each component of each cell, "
     "element, or element's point is a series"},
    {"lags", "integer", "25", "Longest lag, in samples"},
    {"fit_every", "integer", "100", "Samples from one estimate to the next"},
    {"from_step", "integer", "0", "First step that is taken; leaves out how the flow begins"},
    {"when_cells_change", "begin_again | fail", "begin_again",
     "If cells are new, as after a refinement, or have ids that other cells had: all series begin "
     "again"},
    {"key", "field", "number", "Integer field that numbers elements; read only on a spectral mesh"},
    {"into", "name", "null", "Name of the field that is made; null is FIELD_autocovariance"},
};

}  // namespace
}  // namespace pillion::stages::autocorrelation

PILLION_STAGE(pillion::stages::autocorrelation::Autocorrelation, "autocorrelation",
              "Running means and autocovariances of a field's values, for `uncertainty`",
              pillion::stages::autocorrelation::parameters)

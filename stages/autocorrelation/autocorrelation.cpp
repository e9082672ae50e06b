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
#include "../common/options.hpp"
#include "series.hpp"
#include "spacing.hpp"

namespace pillion::stages::autocorrelation {

// Where series live: each component of each cell, element, or point of an element, of the blocks
// that this peer has. A series is known by a key that depends on the cell or the element's number
// alone, so that it can be followed when blocks change. Cells of an unstructured mesh that are
// flagged have none: a copy would have the key of its original.

class Places {
 public:
  Places() = default;
  /// What this peer has of an input: the first array of a block is that of `field`, the second, on
  /// a spectral mesh, that of the numbers of its elements.
  Places(const stage::Step& step, int32_t input, const pillion_field_description& field)
      : components_(field.components), points_(points_of(field)) {
    for (size_t d = 0; d < static_cast<size_t>(field.axes); ++d) cells_[d] = field.cells[d];
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      Part part{.n = extent_of(block, field), .block = block.id()};
      for (size_t d = 0; d < static_cast<size_t>(field.axes); ++d) part.lo[d] = block.lo()[d];
      if (field.mesh_kind == PILLION_SPECTRAL) part.numbers = numbers_of(block);
      if (is_unstructured(field)) add_cells(block, field, part);
      parts_.push_back(std::move(part));
    }
  }

  friend bool operator==(const Places&, const Places&) = default;

  /// Whether these are known to be the places of an input, without looking at its cells.
  [[nodiscard]] bool are_of(const stage::Step& step, int32_t input) const {
    if (static_cast<size_t>(step.block_count(input)) != parts_.size()) return false;
    for (size_t b = 0; b < parts_.size(); ++b) {
      const auto block = step.block(input, static_cast<int32_t>(b));
      const int64_t version = block.raw().topology_version;
      if (version == 0 || version != parts_[b].version || block.id() != parts_[b].block)
        return false;
    }
    return !parts_.empty();
  }

  /// Keys of all series, in the order in which for_each_run goes through them: components, then
  /// cells or elements, then points.
  [[nodiscard]] std::vector<int64_t> keys() const {
    std::vector<int64_t> out;
    for (const auto& part : parts_)
      for (int64_t c = 0; c < components_; ++c)
        for_each_unit(part, [&](int64_t unit) {
          for (int64_t p = 0; p < points_; ++p)
            out.push_back((unit * components_ + c) * points_ + p);
        });
    return out;
  }

  /// Points of an element; 1 for cells.
  [[nodiscard]] int64_t points() const { return points_; }
  /// Cells or elements of a block.
  [[nodiscard]] int64_t units(int32_t block) const {
    return size_of(parts_[static_cast<size_t>(block)].n) / points_;
  }
  /// Which cell or element of a block it is.
  [[nodiscard]] int64_t position(int32_t block, int64_t unit) const {
    const auto& positions = parts_[static_cast<size_t>(block)].positions;
    return positions.empty() ? unit : positions[static_cast<size_t>(unit)];
  }
  /// Calls use(first value, stride, count) for all rows of a block, in the order of its series. The
  /// array is unfolded.
  template <class T, class F>
  void for_each_run(int32_t block, const stage::Array& array, const T* data, F&& use) const {
    const auto& part = parts_[static_cast<size_t>(block)];
    const auto& n = part.n;
    const auto& positions = part.positions;
    if (!positions.empty()) {
      for (int64_t c = 0; c < components_; ++c)
        for_each_stretch_in(positions, [&](int64_t first, size_t count) {
          use(data + c * array.strides[3] + first * array.strides[0], array.strides[0], count);
        });
      return;
    }
    for (int64_t c = 0; c < components_; ++c)
      for (int64_t k = 0; k < n[2]; ++k)
        for (int64_t j = 0; j < n[1]; ++j)
          use(data + c * array.strides[3] + j * array.strides[1] + k * array.strides[2],
              array.strides[0], static_cast<size_t>(n[0]));
  }

 private:
  struct Part {
    Extent lo{}, n{};
    std::vector<int64_t> numbers{};
    std::vector<int64_t> positions{};  ///< of cells that have series, if not all have
    int64_t block = 0, version = 0;    ///< of its cells; 0 if it is not known when they change
    friend bool operator==(const Part& a, const Part& b) {
      return a.lo == b.lo && a.n == b.n && a.numbers == b.numbers && a.positions == b.positions;
    }
  };

  static std::vector<int64_t> numbers_of(const stage::Block& block) {
    std::vector<int64_t> out;
    const auto numbers = block[1];
    numbers.visit([&](const auto* data) {
      for (int64_t e = 0; e < block.count(); ++e)
        out.push_back(static_cast<int64_t>(data[e * numbers.strides[0]]));
    });
    return out;
  }

  /// The ids of the cells that are not flagged, and where these are.
  static void add_cells(const stage::Block& block, const pillion_field_description& field,
                        Part& part) {
    const auto* ids = block.connectivity().cell_ids;
    if (ids == nullptr && block.count() > 0)
      throw Error(ErrorCode::Stage,
                  std::string("cells of mesh '") + field.mesh +
                      "' have no ids, by which series are found again when blocks change; share "
                      "`ids` with the cells");
    const auto* flags = block.raw().flags;
    for (int64_t cell = 0; cell < block.count(); ++cell) {
      const bool counts =
          flags == nullptr ||
          is_counted(static_cast<const uint8_t*>(flags->data)[cell * flags->strides[0]]);
      if (!counts) continue;
      part.numbers.push_back(ids[cell]);
      part.positions.push_back(cell);
    }
    part.n[0] = static_cast<int64_t>(part.numbers.size());
    part.version = block.raw().topology_version;
    if (part.n[0] == block.count()) part.positions.clear();
  }

  /// Calls use(first, count) for all stretches of positions that follow each other.
  template <class F>
  static void for_each_stretch_in(const std::vector<int64_t>& positions, F&& use) {
    for (size_t begin = 0, end = 0; begin < positions.size(); begin = end) {
      for (++end; end < positions.size() && positions[end] == positions[end - 1] + 1;) ++end;
      use(positions[begin], end - begin);
    }
  }

  template <class F>
  void for_each_unit(const Part& part, F&& use) const {
    if (!part.numbers.empty()) {
      for (const int64_t number : part.numbers) use(number);
      return;
    }
    const auto& lo = part.lo;
    const auto& n = part.n;
    for (int64_t k = lo[2]; k < lo[2] + n[2]; ++k)
      for (int64_t j = lo[1]; j < lo[1] + n[1]; ++j)
        for (int64_t i = lo[0]; i < lo[0] + n[0]; ++i) use(i + cells_[0] * (j + cells_[1] * k));
  }

  std::vector<Part> parts_;
  int64_t components_ = 1, points_ = 1;
  Extent cells_ = {1, 1, 1};
};

namespace {

class Autocorrelation final : public stage::Stage {
 public:
  explicit Autocorrelation(stage::Setup& setup)
      : field_(field_of(setup, "field", 0, Numbers::real)),
        mesh_(field_.mesh),
        lags_(integer_from(setup["lags"], 1)),
        fit_every_(integer_from(setup["fit_every"], 1)),
        from_step_(setup["from_step"].integer()),
        series_(static_cast<size_t>(lags_)) {
    const auto name = setup["field"].text();
    if (is_unstructured(field_) && field_.centering == PILLION_POINT)
      setup["field"].fail(
          "field '" + name + "' has values at points of mesh '" + mesh_ +
          "', and blocks share points. Follow the means over cells, which `average` makes");
    if (!has_boxes(field_) && !has_placed_points(field_) && field_.mesh_kind != PILLION_SPECTRAL)
      setup["field"].fail("field '" + name + "' has no cells and no elements");
    if (lags_ > most_lags)
      setup["lags"].fail("expected at most " + std::to_string(most_lags) + ", not " +
                         std::to_string(lags_));
    const auto into = setup["into"];
    input_ = setup.input(blocks_of_cells(field_, fields_of(setup, name)));
    output_ =
        setup.output(into ? into.text() : autocovariance::default_name(name), name, PILLION_FLOAT64,
                     field_.components * autocovariance::components(lags_), field_.units);
    const auto numbers = static_cast<double>(series_.record_size() + 2);
    // The series, and again as records when blocks move.
    setup.memory(2 * 8 * numbers * field_.components / bytes_of(setup, {name}));
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
    state.save("series", std::span<const int64_t>(keys_), std::span<const double>(records),
               series_.record_size());
    state.save("counters", series_.counters());
    state.save("spacing_integers", spacing_.integers());
    state.save("spacing_reals", spacing_.reals());
  }
  void restore(stage::State& state) override {
    if (state.load<int64_t>("parameters") != parameters())
      throw Error(ErrorCode::Configuration,
                  "saved with other lags, components or steps to leave out than those of this run; "
                  "what it gave cannot be continued");
    std::tie(keys_, records_) = state.load<double>("series", series_.record_size());
    series_.restore(state.load<int64_t>("counters"));
    spacing_.restore(state.load<int64_t>("spacing_integers"), state.load<double>("spacing_reals"));
  }

 private:
  static constexpr int64_t most_lags = 10000;

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
        places_.for_each_run(b, unfolded(array, field_), data,
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

  /// Sees to it that the series are those of the blocks that are here now.
  void follow(const stage::Step& step) {
    const bool are_known = places_.are_of(step, input_);
    Places now = are_known ? Places() : Places(step, input_, field_);
    const bool are_same = are_known || now == places_;
    std::vector<int32_t> moved{!records_.empty() || !are_same ? 1 : 0};
    step.sum(std::span(moved));
    if (are_known) now = std::move(places_);
    if (moved[0] == 0) {
      places_ = std::move(now);
      return;
    }
    auto wanted = now.keys();
    if (series_.samples() > 0) {
      if (records_.empty()) records_ = packed();
      records_ = step.fetch(std::span<const int64_t>(keys_), std::span<const double>(records_),
                            series_.record_size(), wanted);
    }
    keys_ = std::move(wanted);
    places_ = std::move(now);
    series_.resize(keys_.size());
    const size_t width = series_.record_size();
    for (size_t s = 0; width * s < records_.size(); ++s) series_.unpack(s, &records_[width * s]);
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
    const int64_t points = places_.points(), components = field_.components;
    std::vector<Row> rows(series_.estimate_rows());
    size_t s = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      auto* out = step.produce<double>(output_, input_, b);
      if (is_unstructured(field_)) fill(out, step.block(input_, b).count(), rows);
      for (int64_t c = 0; c < components; ++c)
        for (int64_t unit = 0; unit < places_.units(b); ++unit)
          for (int64_t p = 0; p < points; ++p, ++s) {
            if (s % lanes == 0) series_.estimate(s / lanes, rows);
            const int64_t at = places_.position(b, unit);
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
  std::string mesh_;
  int64_t lags_, fit_every_, from_step_;
  int32_t input_ = 0, output_ = 0;
  LaggedSeries series_;
  Spacing spacing_;
  Places places_;
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
    {"key", "field", "number", "Integer field that numbers elements; read only on a spectral mesh"},
    {"into", "name", "null", "Name of the field that is made; null is FIELD_autocovariance"},
};

}  // namespace
}  // namespace pillion::stages::autocorrelation

PILLION_STAGE(pillion::stages::autocorrelation::Autocorrelation, "autocorrelation",
              "Running means and autocovariances of a field's values, for `uncertainty`",
              pillion::stages::autocorrelation::parameters)

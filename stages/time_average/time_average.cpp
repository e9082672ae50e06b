// SPDX-License-Identifier: BSD-3-Clause
// The stage `time_average`: means over time of fields at each cell, element or point, and their
// second moments, as fields for later stages. See README.md here.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/followed.hpp"
#include "../common/options.hpp"
#include "../common/rows.hpp"
#include "moments.hpp"

namespace pillion::stages::time_average {
namespace {

enum class Moments { covariance, product, none };

class TimeAverage final : public stage::Stage {
 public:
  explicit TimeAverage(stage::Setup& setup);

  void run(stage::Step& step) override;
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  /// A field that is made: the mean of one, or moments of pairs that begin with number `first`.
  struct Made {
    int32_t output = 0, components = 0;
    bool is_mean = true;
    int32_t first = 0;
  };

  void read_fields(const stage::Setup& setup);
  [[nodiscard]] size_t add_field(const stage::Setup& setup, const stage::Value& list,
                                 const std::string& name);
  void make(const stage::Setup& setup, const std::string& name, const Pairs& pairs, size_t like,
            const std::string& units);
  void make_moments(const stage::Setup& setup);
  [[nodiscard]] std::vector<int64_t> parameters() const;
  [[nodiscard]] std::vector<char> names_of_fields() const;
  /// Numbers of a record: means, sums for each pair, and the weight of its samples.
  [[nodiscard]] size_t width() const { return values_of_record() + 1; }
  [[nodiscard]] size_t values_of_record() const {
    return (static_cast<size_t>(quantities_) + pairs_.size()) * points_;
  }
  [[nodiscard]] double weight_of(const stage::Step& step);
  void follow(const stage::Step& step);
  [[nodiscard]] std::vector<double> records_of(const stage::Step& step,
                                               const Followed::Change& change) const;
  void take(const stage::Step& step, double weight);
  void produce(const stage::Step& step);
  void note(const stage::Step& step);
  [[nodiscard]] int64_t not_finite_means(const stage::Step& step) const;

  std::vector<std::string> names_;
  std::vector<pillion_field_description> fields_;
  std::vector<int32_t> first_;  ///< number of each field's first component among all
  int32_t quantities_ = 0;
  Pairs pairs_;
  std::vector<Made> made_;
  size_t points_ = 1;
  Moments moments_;
  bool by_time_, resets_;
  int64_t output_every_, from_step_;
  int32_t input_ = 0;

  std::optional<Followed> followed_;
  std::vector<double> records_;  ///< of each cell or element
  int64_t samples_ = 0, since_output_ = 0;
  double begin_ = std::numeric_limits<double>::quiet_NaN();   ///< time from which averages count
  double before_ = std::numeric_limits<double>::quiet_NaN();  ///< time of the sample before
  Rows rows_;
};

TimeAverage::TimeAverage(stage::Setup& setup)
    : moments_(static_cast<Moments>(choice(setup["moments"], {"covariance", "product", "none"}))),
      by_time_(choice(setup["weights"], {"time", "equal"}) == 0),
      resets_(setup["reset"].boolean()),
      output_every_(integer_from(setup["output_every"], 1, most_counted)),
      from_step_(setup["from_step"].integer()) {
  read_fields(setup);
  auto inputs = names_;
  if (fields_[0].mesh_kind == PILLION_SPECTRAL) {
    const auto number =
        field_of(setup, "key", 1, Numbers::integer, "averages on a spectral mesh need it");
    if (std::string(number.mesh) != fields_[0].mesh || number.centering != PILLION_CELL)
      setup["key"].fail("field '" + setup["key"].text() +
                        "' does not number the elements of mesh '" + fields_[0].mesh + "'");
    inputs.push_back(setup["key"].text());
  }
  followed_.emplace(fields_[0], when_cells_change(setup));
  input_ = setup.input(blocks_of_cells(fields_[0], inputs));
  for (size_t f = 0; f < fields_.size(); ++f) {
    const int32_t components = fields_[f].components;
    made_.push_back({setup.output(names_[f] + "_mean", names_[f], PILLION_FLOAT64, components,
                                  fields_[f].units),
                     components, true, first_[f]});
  }
  if (moments_ != Moments::none) make_moments(setup);
  else if (setup["pairs"].size() > 0) setup["pairs"].fail("pairs need `moments`");
  // Records, and again when blocks move. Each cell has a key, a weight and a place, too.
  const auto numbers = static_cast<double>(quantities_) + static_cast<double>(pairs_.size()) +
                       (points_ == 1 ? 3 : 0) + (is_unstructured(fields_[0]) ? CellMark::width : 0);
  setup.memory(2 * 8 * numbers / bytes_of(setup, names_));
  setup.product("time_average_" + names_[0] + ".csv");
  setup.survives_failures();
}

size_t TimeAverage::add_field(const stage::Setup& setup, const stage::Value& list,
                              const std::string& name) {
  const auto field = setup.field(name, list);
  if (!stage::is_real(field.type)) list.fail("field '" + name + "' has integers; reals are needed");
  if (is_unstructured(field) && field.centering == PILLION_POINT)
    list.fail("field '" + name + "' has values at points of mesh '" + field.mesh +
              "', and blocks share points. Follow the means over cells, which `average` makes");
  if (!has_boxes(field) && !has_placed_points(field) && field.mesh_kind != PILLION_SPECTRAL)
    list.fail("field '" + name + "' has no cells and no elements");
  if (!fields_.empty() &&
      (std::string(field.mesh) != fields_[0].mesh || field.centering != fields_[0].centering))
    list.fail("fields '" + names_[0] + "' and '" + name +
              "' are not at the same places of one mesh; average them in two stages");
  names_.push_back(name);
  fields_.push_back(field);
  first_.push_back(quantities_);
  quantities_ += field.components;
  return fields_.size() - 1;
}

void TimeAverage::read_fields(const stage::Setup& setup) {
  const auto list = setup["fields"];
  for (const auto& name : list.texts()) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      list.fail("field '" + name + "' is listed twice");
    (void)add_field(setup, list, name);
  }
  if (names_.empty()) list.fail("no fields are listed");
  points_ = static_cast<size_t>(points_of(fields_[0]));
}

void TimeAverage::make(const stage::Setup& setup, const std::string& name, const Pairs& pairs,
                       size_t like, const std::string& units) {
  const auto components = static_cast<int32_t>(pairs.size());
  const char* ending = moments_ == Moments::covariance ? "_covariance" : "_product";
  made_.push_back({setup.output(name + ending, names_[like], PILLION_FLOAT64, components, units),
                   components, false, static_cast<int32_t>(pairs_.size())});
  pairs_.insert(pairs_.end(), pairs.begin(), pairs.end());
}

void TimeAverage::make_moments(const stage::Setup& setup) {
  const auto product = [&](size_t a, size_t b) {
    const std::string x = fields_[a].units, y = fields_[b].units;
    if (x.empty() || y.empty()) return x + y;
    return a == b ? "(" + x + ")^2" : "(" + x + ") (" + y + ")";
  };
  for (size_t f = 0; f < fields_.size(); ++f)
    make(setup, names_[f], pairs_within(first_[f], fields_[f].components), f, product(f, f));
  const auto pairs = setup["pairs"];
  for (int64_t n = 0; n < pairs.size(); ++n) {
    const auto two = pairs[n].texts();
    if (two.size() != 2) pairs[n].fail("expected two fields, such as [velocity, temperature]");
    std::vector<size_t> at;
    for (const auto& name : two) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) pairs[n].fail("field '" + name + "' is not listed in `fields`");
      at.push_back(static_cast<size_t>(found - names_.begin()));
    }
    if (at[0] == at[1]) pairs[n].fail("moments of a field with itself are made for every field");
    make(setup, two[0] + "_" + two[1],
         pairs_between(first_[at[0]], fields_[at[0]].components, first_[at[1]],
                       fields_[at[1]].components),
         at[0], product(at[0], at[1]));
  }
}

void TimeAverage::run(stage::Step& step) {
  if (step.index() < from_step_ || step.coarsening(fields_[0].mesh) != 1) return step.withhold();
  follow(step);
  const double weight = weight_of(step);
  if (weight > 0) {
    take(step, weight);
    ++samples_;
    ++since_output_;
  }
  if (weight <= 0 || since_output_ < output_every_) return step.withhold();
  produce(step);
  note(step);
  since_output_ = 0;
  if (!resets_) return;
  std::fill(records_.begin(), records_.end(), 0.0);
  samples_ = 0;
  begin_ = before_;
}

// By time a sample stands for the time since the one before, and the first one for none.
double TimeAverage::weight_of(const stage::Step& step) {
  const double before = std::exchange(before_, step.time());
  if (std::isnan(begin_)) begin_ = step.time();
  if (!by_time_) return 1;
  return std::isnan(before) ? 0 : step.time() - before;
}

// Sees to it that records are those of the cells or elements that are here now. Cells that are new
// begin with no samples.
void TimeAverage::follow(const stage::Step& step) {
  auto change = followed_->look(step, input_, samples_ > 0);
  if (!change) return;
  auto records = samples_ > 0 ? records_of(step, *change)
                              : std::vector<double>(width() * change->keys.size(), 0.0);
  // Not before: records are of the places that were, if they cannot be fetched.
  followed_->accept(std::move(*change));
  records_ = std::move(records);
}

std::vector<double> TimeAverage::records_of(const stage::Step& step,
                                            const Followed::Change& change) const {
  const auto& keys = change.keys;
  std::vector<int64_t> wanted;
  for (size_t i = 0; i < keys.size(); ++i)
    if (change.is_known[i] != 0) wanted.push_back(keys[i]);
  const auto found = step.fetch(std::span<const int64_t>(followed_->keys()),
                                std::span<const double>(records_), width(), wanted);
  std::vector<double> out(width() * keys.size(), 0.0);
  auto from = found.begin();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (change.is_known[i] == 0) continue;
    std::copy_n(from, width(), out.begin() + static_cast<ptrdiff_t>(width() * i));
    from += static_cast<ptrdiff_t>(width());
  }
  return out;
}

void TimeAverage::take(const stage::Step& step, double weight) {
  std::vector<double> values(static_cast<size_t>(quantities_) * points_), scratch(values.size());
  const auto& places = followed_->places();
  size_t record = 0;
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    for (int64_t unit = 0; unit < places.units(b); ++unit, ++record) {
      double* to = values.data();
      for (size_t f = 0; f < fields_.size(); ++f) {
        const auto array = unfolded(block[static_cast<int32_t>(f)], fields_[f]);
        array.visit([&](const auto* data) {
          for (int32_t c = 0; c < fields_[f].components; ++c) {
            const auto* from = data + places.offset(b, unit, array) + c * array.strides[3];
            for (size_t p = 0; p < points_; ++p)
              *to++ = static_cast<double>(from[static_cast<int64_t>(p) * array.strides[0]]);
          }
        });
      }
      const auto of_cell = std::span(records_).subspan(record * width(), width());
      take_sample({of_cell.back(), weight}, points_, pairs_, values,
                  of_cell.first(values_of_record()), scratch);
      of_cell.back() += weight;
    }
  }
}

void TimeAverage::produce(const stage::Step& step) {
  const auto& places = followed_->places();
  for (const auto& made : made_) {
    size_t record = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      auto* out = step.produce<double>(made.output, input_, b);
      const auto components = static_cast<size_t>(made.components);
      // Cells that are copies have no averages.
      if (is_unstructured(fields_[0]))
        std::fill_n(out, static_cast<size_t>(step.block(input_, b).count()) * components,
                    std::numeric_limits<double>::quiet_NaN());
      for (int64_t unit = 0; unit < places.units(b); ++unit, ++record) {
        const double* means = records_.data() + record * width();
        const double* sums = means + static_cast<size_t>(quantities_) * points_;
        const auto at = static_cast<size_t>(places.position(b, unit)) * components * points_;
        for (size_t c = 0; c < components; ++c)
          for (size_t p = 0; p < points_; ++p) {
            const size_t number = static_cast<size_t>(made.first) + c;
            double value = 0;
            if (made.is_mean) {
              value = means[number * points_ + p];
            } else {
              value = sums[number * points_ + p] / means[values_of_record()];
              const auto& [x, y] = pairs_[number];
              if (moments_ == Moments::product)
                value += means[static_cast<size_t>(x) * points_ + p] *
                         means[static_cast<size_t>(y) * points_ + p];
            }
            out[at + c * points_ + p] = value;
          }
      }
    }
  }
}

// A sample that is not finite spoils the mean of its place until averages begin again.
int64_t TimeAverage::not_finite_means(const stage::Step& step) const {
  int64_t count = 0;
  const size_t means = static_cast<size_t>(quantities_) * points_;
  for (size_t record = 0; record + width() <= records_.size(); record += width())
    for (size_t m = 0; m < means; ++m) count += std::isfinite(records_[record + m]) ? 0 : 1;
  step.sum(std::span(&count, 1));
  return count;
}

void TimeAverage::note(const stage::Step& step) {
  const auto units = step.units("time");
  rows_.add("step", "", step.index());
  rows_.add("time", units, step.time());
  rows_.add("begin", units, begin_);
  rows_.add("samples", "", samples_);
  rows_.add("not_finite", "", not_finite_means(step));
  rows_.add("changed_cells", "", followed_->changes());
  rows_.end_row();
  stage::Table table("time_average_" + names_[0], "Averages over time of " + names_[0]);
  rows_.put_into(table);
  step.write(table);
}

std::vector<int64_t> TimeAverage::parameters() const {
  std::vector<int64_t> out{quantities_, static_cast<int64_t>(points_), by_time_ ? 1 : 0,
                           resets_ ? 1 : 0, from_step_};
  for (const auto& [a, b] : pairs_) out.insert(out.end(), {a, b});
  return out;
}

std::vector<char> TimeAverage::names_of_fields() const {
  std::vector<char> out;
  for (const auto& name : names_) {
    out.insert(out.end(), name.begin(), name.end());
    out.push_back(' ');
  }
  return out;
}

void TimeAverage::save(stage::State& state) const {
  state.save("parameters", parameters());
  state.save("fields", names_of_fields());
  state.save("records", std::span<const int64_t>(followed_->keys()),
             std::span<const double>(records_), width());
  followed_->save(state);
  state.save("times", std::vector<double>{begin_, before_});
  state.save("samples", std::vector<int64_t>{samples_, since_output_});
  rows_.save(state, "outputs");
}

void TimeAverage::restore(stage::State& state) {
  if (state.load<int64_t>("parameters") != parameters() ||
      state.load<char>("fields") != names_of_fields())
    throw Error(ErrorCode::Configuration,
                "saved with other fields, pairs, weights or steps to leave out than those of this "
                "run; its averages cannot be continued");
  records_ = state.load<double>("records", width()).second;
  followed_->restore(state);
  const auto times = state.load<double>("times");
  const auto samples = state.load<int64_t>("samples");
  begin_ = times.at(0), before_ = times.at(1);
  samples_ = samples.at(0), since_output_ = samples.at(1);
  rows_.restore(state, "outputs");
}

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields of reals at the same places of one mesh: cells of any mesh, or a spectral one"},
    {"moments", "covariance | product | none", "covariance",
     "Of all pairs of a field's components: means of products of deviations, or of values"},
    {"pairs", "list of pairs of fields", "[]", "Fields whose components are paired, too"},
    {"weights", "time | equal", "time",
     "Of samples: time passed since the one before, or all equal"},
    {"output_every", "integer", "10", "Samples from one output to the next"},
    {"reset", "true | false", "false", "Begin again after each output"},
    {"from_step", "integer", "0", "First step that is taken; leaves out how the flow begins"},
    {"when_cells_change", "begin_again | fail", "begin_again",
     "Of cells that are new, as after a refinement, or that have an id which another cell had"},
    {"key", "field", "number", "Integer field that numbers elements; read only on a spectral mesh"},
};

}  // namespace
}  // namespace pillion::stages::time_average

PILLION_STAGE(pillion::stages::time_average::TimeAverage, "time_average",
              "Averages over time of fields at each place, and their second moments, as new fields",
              pillion::stages::time_average::parameters)

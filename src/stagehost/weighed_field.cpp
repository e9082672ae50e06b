// SPDX-License-Identifier: BSD-3-Clause
// A reader is what a stage with one input as shared is: it sees the host's own table.
#include "stagehost/weighed_field.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <pillion/stage.hpp>

#include "stagehost/plugin.hpp"
#include "stagehost/setup.hpp"
#include "stagehost/work.hpp"
#include "stages/common/volumes.hpp"

namespace pillion::stagehost {
namespace {

/// Sums over values of one component. Values that are not finite are left out, as in `statistics`.
/// Infinities count as extremes, by which a condition notices that a solution has diverged.
class MomentSums {
 public:
  void add(std::span<const double> values, double each) {
    Lanes lanes;
    for (size_t i = 0; i < values.size(); ++i) lanes.add(i % Lanes::count, values[i], each);
    take(lanes, values, [&](size_t) { return each; });
  }
  void add(std::span<const double> values, std::span<const double> weights) {
    Lanes lanes;
    for (size_t i = 0; i < values.size(); ++i) lanes.add(i % Lanes::count, values[i], weights[i]);
    take(lanes, values, [&](size_t i) { return weights[i]; });
  }
  /// Values between the ones that count: they weigh for these.
  void weigh(std::span<const double> values, std::span<const double> weights) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      all_.weight += weights[i];
      all_.weighted_sum += weights[i] * values[i];
      all_.weighted_squares += weights[i] * values[i] * values[i];
    }
  }
  [[nodiscard]] const model::Moments& moments() const { return all_; }

 private:
  /// Several sums, so that one value need not wait for the one before.
  struct Lanes {
    static constexpr size_t count = 8;
    std::array<double, count> sum{}, weight{}, weighted{}, squares{};
    void add(size_t lane, double value, double each) {
      sum[lane] += value;
      weight[lane] += each;
      weighted[lane] += each * value;
      squares[lane] += each * value * value;
    }
    [[nodiscard]] bool is_finite() const {
      double all = 0;
      for (size_t l = 0; l < count; ++l) all += sum[l] + squares[l];
      return std::isfinite(all);
    }
  };

  template <class WeightOf>
  void take(const Lanes& lanes, std::span<const double> values, WeightOf&& weight_of) {
    for (const double v : values) {
      all_.minimum = std::min(all_.minimum, v);
      all_.maximum = std::max(all_.maximum, v);
    }
    if (!lanes.is_finite()) return take_one_by_one(values, weight_of);
    all_.count += static_cast<double>(values.size());
    for (size_t l = 0; l < Lanes::count; ++l) {
      all_.sum += lanes.sum[l];
      all_.weight += lanes.weight[l];
      all_.weighted_sum += lanes.weighted[l];
      all_.weighted_squares += lanes.squares[l];
    }
  }
  template <class WeightOf>
  void take_one_by_one(std::span<const double> values, WeightOf&& weight_of) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double v = values[i], weight = weight_of(i);
      if (!std::isfinite(v)) continue;
      all_.count += 1;
      all_.sum += v;
      all_.weight += weight;
      all_.weighted_sum += weight * v;
      all_.weighted_squares += weight * v * v;
    }
  }

  model::Moments all_;
};

}  // namespace

struct WeighedField::Reader {
  Reader(const model::Catalogue& known, const std::string& name)
      : catalogue(known), setup{.parameters = {}, .catalogue = &catalogue} {
    stage::Setup face(&host_table(), &setup);
    field = face.field(name, face.parameters());
    mesh = field.mesh;
    weighing.emplace(face, field, face.parameters(), volumes);
    std::vector<std::string> read{name};
    weighing->add_to(read);
    input = face.input(stage::Input::as_shared(read).with_levels().with_points());
    const auto needed = setup.inputs.front().needed();
    fields.assign(needed.begin(), needed.end());
  }

  model::Catalogue catalogue;
  pillion_setup setup;
  pillion_field_description field{};
  std::string mesh;
  std::vector<std::string> fields;
  stages::VolumesByMesh volumes;
  std::optional<stages::Weighing> weighing;
  int32_t input = 0;
  Movers movers;
};

WeighedField::WeighedField(const model::Catalogue& catalogue, const std::string& field)
    : reader_(std::make_unique<Reader>(catalogue, field)) {}
WeighedField::WeighedField(WeighedField&& other) noexcept = default;
WeighedField::~WeighedField() = default;

const std::vector<std::string>& WeighedField::fields() const { return reader_->fields; }

std::vector<model::Moments> WeighedField::moments(const Publication& publication,
                                                  std::span<const int32_t> components,
                                                  const ExecutionContext& context) {
  auto& reader = *reader_;
  ExecutionContext own = context;
  own.catalogue = &reader.catalogue;
  Publication read = publication;
  pillion_work work{&reader.setup, &read, &own, {}};
  work.inputs.push_back(bring(reader.setup.inputs.front(), read, own, reader.movers));
  const stage::Step step(&host_table(), &work);
  std::vector<MomentSums> sums(components.size());
  for (int32_t b = 0; b < step.block_count(reader.input); ++b) {
    const auto block = step.block(reader.input, b);
    const auto array = stages::unfolded(block[0], reader.field);
    const auto weights = reader.weighing->of(step, block);
    if (reader.weighing->samples_cells()) {
      std::vector<stages::Selected> all;
      for (const int32_t component : components) all.push_back({&array, component});
      reader.weighing->for_each(step, block, all, weights,
                                [&](const std::vector<std::span<double>>& values,
                                    std::span<const double> each, int32_t times) {
                                  for (size_t c = 0; c < components.size(); ++c) {
                                    if (times > 0) sums[c].add(values[c], each);
                                    else if (times == 0) sums[c].weigh(values[c], each);
                                  }
                                });
      continue;
    }
    for (size_t c = 0; c < components.size(); ++c)
      stages::for_each_weighted({&array, components[c]}, stages::extent_of(block, reader.field),
                                weights,
                                [&](std::span<const double> values, std::span<const double> each) {
                                  if (each.empty()) sums[c].add(values, weights.each);
                                  else sums[c].add(values, each);
                                });
  }
  std::vector<model::Moments> out;
  for (const auto& of : sums) out.push_back(of.moments());
  return out;
}

}  // namespace pillion::stagehost

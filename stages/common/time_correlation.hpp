// SPDX-License-Identifier: BSD-3-Clause
// What `msd` and `vacf` share: the parameters of a correlation in time of particles, and a stage
// that keeps origins, correlates each publication with them, and writes the table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "continuity.hpp"
#include "lags.hpp"
#include "options.hpp"
#include "particles.hpp"
#include "species.hpp"
#include "tracks.hpp"

namespace pillion::stages {

// The parameters that stages over time origins share (msd, vacf), read and checked, and the input
// that follows from them. Only fields that are needed are asked for.

enum class Drift { none, species, system };

struct CorrelationOptions {
  Selection selection;
  Per per = Per::particle;
  Drift drift = Drift::none;
  OriginSchedule origins;
  bool fails_if_ids_change = false;  ///< otherwise origins begin again
  size_t lags = 0;
  std::string key, vector, mesh;

  // Numbers of the arrays of the input; -1 if absent.
  int32_t input = 0, type = -1, mass = -1, extra = -1;

  /// Whether all particles have a track, besides those of species.
  [[nodiscard]] bool follows_all() const { return drift == Drift::system; }
  [[nodiscard]] bool weighs() const { return per == Per::molecule || drift != Drift::none; }
  /// Text that differs if sums over the two runs would mean different things.
  [[nodiscard]] std::string signature() const {
    return "species " + selection.signature() + " per " + per_word() + " remove_drift " +
           drift_word();
  }
  [[nodiscard]] const char* per_word() const {
    return per == Per::molecule ? "molecule" : "particle";
  }
  [[nodiscard]] const char* drift_word() const {
    constexpr const char* words[] = {"none", "species", "system"};
    return words[static_cast<int>(drift)];
  }
};

/// `first` or {every: publications, keep: origins}
inline OriginSchedule origins_of(const stage::Value& value) {
  if (value.is_scalar()) {
    choice(value, {"first"});
    return {.only_first = true};
  }
  if (!value.is_map()) value.fail("expected `first` or {every: PUBLICATIONS, keep: ORIGINS}");
  only_keys(value, {"every", "keep"});
  OriginSchedule schedule;
  const auto read = [&](const char* key, int64_t& into, int64_t most) {
    const auto entry = value.find(key);
    if (!entry) value.fail(std::string("`origins` needs `") + key + "`");
    into = integer_from(entry, 1, most);
  };
  read("every", schedule.every, most_counted);
  read("keep", schedule.keep, 10'000);  // vectors of every particle
  return schedule;
}

namespace detail {

inline void add_key(const stage::Setup& setup, CorrelationOptions& o) {
  const char* parameter = o.per == Per::molecule ? "molecule" : "id";
  particle_field(setup, parameter, 1, Numbers::integer);
  o.key = setup[parameter].text();
}

/// The fields wanted, in the order of the arrays; sets the numbers of the optional ones.
inline std::vector<std::string> fields_of(const stage::Setup& setup, CorrelationOptions& o,
                                          const std::string& extra) {
  std::vector<std::string> fields = {o.key, o.vector};
  const auto add = [&](const std::string& parameter) {
    fields.push_back(setup[parameter].text());
    return static_cast<int32_t>(fields.size()) - 1;
  };
  if (!o.selection.everything()) {
    particle_field(setup, "type", 1, Numbers::integer);
    o.type = add("type");
  }
  if (o.weighs()) {
    particle_field(setup, "mass", 1, Numbers::any,
                   "needed because of `per: molecule` or `remove_drift`");
    o.mass = add("mass");
  }
  if (!extra.empty()) o.extra = add(extra);
  return fields;
}

}  // namespace detail

/// Reads the parameters. `vector` names the parameter with the field to correlate, `extra` one with
/// a further field to read, or is empty.
inline CorrelationOptions correlation_options(const stage::Setup& setup, const std::string& vector,
                                              const std::string& extra) {
  CorrelationOptions o;
  if (const auto species = setup["species"]) o.selection = species_of(species);
  o.per = static_cast<Per>(choice(setup["per"], {"particle", "molecule"}));
  o.drift = static_cast<Drift>(choice(setup["remove_drift"], {"none", "species", "system"}));
  o.origins = origins_of(setup["origins"]);
  o.fails_if_ids_change = choice(setup["when_ids_change"], {"begin_again", "fail"}) == 1;
  o.lags = static_cast<size_t>(integer_from(setup["lags"], 1, most_bins));
  o.mesh = particle_field(setup, vector, 3, Numbers::real).mesh;
  o.vector = setup[vector].text();
  detail::add_key(setup, o);
  const auto fields = detail::fields_of(setup, o, extra);
  auto input = stage::Input::by_key(o.key, fields);
  if (!o.selection.everything())
    input = std::move(input).where(setup["type"].text(), o.selection.types());
  o.input = setup.input(input);
  // What is read of a particle, and its vector now and at each time origin, in vectors that grow.
  const auto kept = static_cast<double>(o.origins.only_first ? 1 : o.origins.keep);
  const double read = 48 + (o.weighs() ? 40 : 0) + (extra.empty() ? 0 : 24);
  const double tracks = o.follows_all() ? 2 : 1;
  setup.memory((read + 48 + 36 * tracks * (kept + 1)) / bytes_of(setup, fields));
  setup.survives_failures();
  return o;
}

// The stage that msd and vacf are: at every publication each particle's vector is compared with its
// vectors at the kept time origins, and the sums are filed by lag. A derived stage defines which
// vector, what to sum, and how to present it. Sums over the peers are made at once, so what is kept
// besides the origins is the same on every peer.

class TimeCorrelation : public stage::Stage {
 public:
  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (lags_.size() > 0 || coarse_left_out_ > 0) step.write(table(step));
  }
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 protected:
  TimeCorrelation(CorrelationOptions options, TrackOf what, Kernel kernel)
      : options_(std::move(options)),
        kernel_(kernel),
        continuity_(what),
        origins_(options_.origins),
        lags_(options_.selection.size(), options_.lags) {}

  /// Turns the vectors just read into those to correlate.
  virtual void prepare(const stage::Step&, const stage::Block&, Particles&) const {}
  [[nodiscard]] virtual stage::Table table(const stage::Step& step) const = 0;

  [[nodiscard]] const CorrelationOptions& options() const { return options_; }
  [[nodiscard]] const Lags& lags() const { return lags_; }
  /// Of the space that the particles move in: 2 or 3.
  [[nodiscard]] int dimensions() const { return dimensions_; }
  /// What every such table says about itself.
  void describe(stage::Table& table) const;

 private:
  /// Centres of a species now and at an origin.
  using Reference = std::pair<Centre, Centre>;

  [[nodiscard]] bool coarse(const stage::Step& step) const {
    return step.coarsening(options_.mesh) > 1;
  }
  [[nodiscard]] Particles read(const stage::Step& step) const;
  [[nodiscard]] std::span<const Track> of_species(const Snapshot& all) const {
    return std::span(all).first(std::min(all.size(), options_.selection.size()));
  }
  void follow(stage::Step& step);
  bool watch(const stage::Step& step, const Snapshot& now);
  [[nodiscard]] Motion motion(const stage::Step& step, const Snapshot& now) const;
  void forget(const stage::Step& step, const Snapshot& now, double reach);
  void check(const stage::Step& step, const Particles& particles);
  [[nodiscard]] std::vector<Reference> references(const stage::Step& step,
                                                  const Particles& particles) const;
  void take_samples(const stage::Step& step, const std::vector<Reference>& references);

  CorrelationOptions options_;
  Kernel kernel_;
  Continuity continuity_;
  Origins origins_;
  Lags lags_;
  Snapshot latest_;
  double latest_time_ = 0;
  int64_t begun_again_ = 0, ids_used_again_ = 0;
  int64_t coarse_left_out_ = 0;
  int64_t without_molecule_ = 0;
  int dimensions_ = 3;  ///< as of the last publication
};

}  // namespace pillion::stages

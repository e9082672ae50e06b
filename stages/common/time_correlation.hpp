// SPDX-License-Identifier: BSD-3-Clause
// The stage that msd and vacf are: at every publication each particle's vector is compared with
// its vectors at the kept time origins, and the sums are filed by lag. A derived stage says which
// vector, what to sum, and how to present it. Sums over the peers are made at once, so what is
// remembered besides the origins is alike on every peer.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "correlation_options.hpp"
#include "lags.hpp"
#include "origins.hpp"
#include "particles.hpp"
#include "tracks.hpp"

namespace pillion::stages {

class TimeCorrelation : public stage::Stage {
 public:
  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (lags_.size() > 0 || coarse_left_out_ > 0) step.write(table(step));
  }
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 protected:
  TimeCorrelation(CorrelationOptions options, Kernel kernel)
      : options_(std::move(options)),
        kernel_(kernel),
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
  void follow(stage::Step& step);
  void check(const stage::Step& step, const Particles& particles);
  [[nodiscard]] std::vector<Centre> centres(const stage::Step& step,
                                            const Particles& particles) const;
  [[nodiscard]] std::vector<Reference> references(const stage::Step& step,
                                                  const Particles& particles,
                                                  const std::vector<Centre>& now) const;
  void take_samples(const stage::Step& step, const std::vector<Reference>& references);

  CorrelationOptions options_;
  Kernel kernel_;
  Origins origins_;
  Lags lags_;
  Snapshot latest_;
  int64_t coarse_left_out_ = 0;
  int64_t without_molecule_ = 0;
  int dimensions_ = 3;  ///< as of the last publication
};

}  // namespace pillion::stages

// SPDX-License-Identifier: BSD-3-Clause
// The stage `power_spectrum`: how much a field varies on which scale, from its Fourier transform on
// a periodic mesh; with a second field, how much the two vary together.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <pillion/stage.hpp>
#include <set>
#include <span>
#include <string>

#include "../common/cells.hpp"
#include "../common/options.hpp"
#include "../common/relative.hpp"
#include "../common/units.hpp"
#include "particle_number.hpp"
#include "shells.hpp"

namespace pillion::stages::power_spectrum {
namespace {

/// Powers of sinc: of nearest grid point, cloud in cell and triangular-shaped cloud.
int window_of(const stage::Value& value) { return choice(value, {"none", "ngp", "cic", "tsc"}); }

/// The cloud that the shot noise of the field has, which must be known; 0 if none is subtracted.
int noise_cloud_of(const stage::Setup& setup, int window) {
  const auto given = setup["cloud"], particles = setup["shot_noise"];
  if (!particles) {
    if (given)
      given.fail(
          "`cloud` goes with `shot_noise`; to undo how particles were put on the mesh, say "
          "`window`");
    return 0;
  }
  if (!given && window == 0)
    particles.fail(
        "the shot noise depends on how particles were put on the mesh; say `cloud: ngp`, `cic` or "
        "`tsc`, as `deposit` does, or undo it with `window`");
  if (!given) return window;
  const int cloud = choice(given, {"ngp", "cic", "tsc"}) + 1;
  if (window != 0 && cloud != window)
    given.fail("`cloud: " + given.text() + "` contradicts `window: " + setup["window"].text() +
               "`: the field was put on the mesh in one way");
  return cloud;
}

class PowerSpectrum final : public stage::Stage {
 public:
  explicit PowerSpectrum(stage::Setup& setup)
      : name_(setup["field"].text()),
        other_(setup["with"] ? setup["with"].text() : ""),
        field_(mesh_field(setup, "field")),
        mesh_(field_.mesh),
        contrast_(setup["contrast"].boolean()),
        clouds_{window_of(setup["window"]), window_of(setup["with_window"])},
        particles_(setup),
        is_log_(choice(setup["scale"], {"linear", "log"}) == 1),
        bins_(setup["bins"] ? integer_from(setup["bins"], 1, most_bins) : 0),
        width_(setup["width"].real()),
        layout_(choice(setup["layout"], {"auto", "slabs", "pencils"})) {
    if (!other_.empty() && std::string(mesh_field(setup, "with").mesh) != mesh_)
      setup["with"].fail("fields '" + name_ + "' and '" + other_ + "' are on different meshes");
    for (int32_t d = 0; d < field_.axes; ++d)
      if (field_.periodic[d] == 0 && field_.cells[d] > 1)
        setup["field"].fail("mesh '" + mesh_ + "' is not periodic along axis " + std::to_string(d) +
                            "; a power spectrum needs a periodic mesh");
    if (is_log_ && bins_ == 0) setup["bins"].fail("logarithmic shells need a number of `bins`");
    if (!is_log_ && bins_ != 0)
      setup["bins"].fail("linear shells are set by `width`; `bins` are for `scale: log`");
    if (!(width_ > 0) || !std::isfinite(width_))
      setup["width"].fail("expected the width of shells, above 0, not " + setup["width"].text());
    const double shells = is_log_ ? 1 : linear_shells(volume_of_mesh(), width_);
    if (shells > static_cast<double>(most_bins) || shells < 0.5)
      setup["width"].fail("expected shells so wide that there are 1 to " +
                          std::to_string(most_bins) + ", not " + setup["width"].text());
    if (setup["shot_noise"] && !other_.empty())
      setup["shot_noise"].fail("two fields have no shot noise in common");
    clouds_.noise = noise_cloud_of(setup, clouds_.undo_a);
    // Every n-th cell has the power of smaller scales folded in, which nothing can take out again.
    setup.require_whole_publications();
    read_lines(setup["line_of_sight"]);
    setup.product(table_name() + ".csv");
    for (const int axis : lines_) setup.product(table_name(axis) + ".csv");
    std::vector<std::string> names{name_};
    if (!other_.empty()) names.push_back(other_);
    input_ = setup.input(layout_ == 0   ? stage::Input::transform(names)
                         : layout_ == 1 ? stage::Input::slabs(names, 2)
                                        : stage::Input::pencils(names, 0));
    setup.memory(2.2);  // the padded transform and its halves on the way to other ranks
  }

  void run(stage::Step& step) override {
    const auto volume = volume_of_mesh();
    if (!transform_) {
      const auto decomposition = decomposition_of(step);
      transform_.emplace(volume.cells, field_.axes, decomposition);
      if (!other_.empty()) second_.emplace(volume.cells, field_.axes, decomposition);
    }
    std::array<ValueSizes, 2> sizes;
    const Complex* a = transform_->forward(step, values_of(step, 0, *transform_, sizes[0]));
    const Complex* b = nullptr;
    if (second_) b = second_->forward(step, values_of(step, 1, *second_, sizes[1]));
    const double unit = 2 * std::numbers::pi / volume.longest();
    Shells shells(volume, is_log_ ? log_edges(volume, bins_) : linear_edges(volume, width_),
                  clouds_);
    shells.add(a, b, transform_->part());
    auto& sums = shells.sums();
    reduce(step, sums);
    for (auto& of_field : sizes) of_field.combine(step);
    not_finite_ = sizes[0].not_finite + sizes[1].not_finite;
    if (not_finite_ > 0) {
      make_unknown(sums);
    } else if (contrast_) {
      expect_contrast(sums.mean_a / volume.count(), sizes[0], name_);
      if (second_) expect_contrast(sums.mean_b / volume.count(), sizes[1], other_);
    }
    particle_number_ = particles_.at(step);
    const double scale = scale_of(volume, sums);
    step.write(spectrum(step, volume, shells, scale, unit));
    for (const int d : lines_) step.write(line_of_sight(step, volume, shells, scale, d));
  }

 private:
  [[nodiscard]] Volume volume_of_mesh() const {
    return {{field_.cells[0], field_.cells[1], field_.cells[2]},
            {field_.length[0], field_.length[1], field_.length[2]},
            field_.axes};
  }
  /// As Input::transform has it, if nothing else was asked for.
  [[nodiscard]] Decomposition decomposition_of(const stage::Step& step) const {
    const bool slabs =
        layout_ == 0 ? field_.axes == 3 && step.peers() <= field_.cells[2] : layout_ == 1;
    return slabs ? Decomposition::slabs : Decomposition::pencils;
  }
  [[nodiscard]] static pillion_field_description mesh_field(const stage::Setup& setup,
                                                            const std::string& parameter) {
    const auto field = field_of(setup, parameter, 1, Numbers::any);
    expect_equal_cells(field, setup[parameter], "a Fourier transform");
    if (field.mesh_kind != PILLION_UNIFORM)
      setup[parameter].fail("field '" + std::string(field.name) + "' is not on a uniform mesh");
    return field;
  }

  void read_lines(const stage::Value& value) {
    if (!value) return;
    for (const int64_t axis : value.integers()) {
      if (axis < 0 || axis >= field_.axes)
        value.fail("mesh '" + mesh_ + "' has no axis " + std::to_string(axis));
      if (!volume_of_mesh().has_waves(static_cast<int>(axis)))
        value.fail("mesh '" + mesh_ + "' has one cell along axis " + std::to_string(axis) +
                   ", so no waves");
      lines_.insert(static_cast<int>(axis));
    }
  }

  /// This peer's values as the transform takes them; converted in its own memory if they must be.
  [[nodiscard]] const double* values_of(const stage::Step& step, int32_t number,
                                        Transform& transform, ValueSizes& sizes) const {
    double* room = transform.real(step);
    if (step.block_count(input_) == 0) return room;
    const auto block = step.block(input_);
    const double* values = room;
    if (block[number].type == PILLION_FLOAT64) values = block.values<double>(number).data();
    else block[number].visit([&](const auto* from) { std::copy_n(from, block.count(), room); });
    sizes.add(std::span(values, static_cast<size_t>(block.count())));
    return values;
  }

  static void expect_contrast(double mean, const ValueSizes& sizes, const std::string& field) {
    expect_mean(mean, sizes, field, "a contrast", "set `contrast: false`");
  }

  /// A transform spreads what is not finite over all waves.
  static void make_unknown(Shells::Sums& sums) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (auto* values :
         {&sums.power, &sums.own_a, &sums.own_b, &sums.planes[0], &sums.planes[1], &sums.planes[2]})
      std::fill(values->begin(), values->end(), nan);
    sums.all = sums.mean_a = sums.mean_b = nan;
  }

  void reduce(const stage::Step& step, Shells::Sums& sums) const {
    for (auto* values : {&sums.k, &sums.power, &sums.own_a, &sums.own_b, &sums.noise,
                         &sums.planes[0], &sums.planes[1], &sums.planes[2]})
      step.sum(std::span(*values));
    step.sum(std::span(sums.modes));
    double single[3] = {sums.all, sums.mean_a, sums.mean_b};
    step.sum(std::span<double>(single));
    sums.all = single[0];
    sums.mean_a = single[1];
    sums.mean_b = single[2];
  }

  /// From |F|^2 of values to the power of the field or of its contrast: V / N^2, over the means.
  [[nodiscard]] double scale_of(const Volume& volume, const Shells::Sums& sums) const {
    const double n = volume.count();
    double scale = volume.size() / (n * n);
    if (contrast_) scale /= sums.mean_a / n * (other_.empty() ? sums.mean_a : sums.mean_b) / n;
    return scale;
  }

  [[nodiscard]] Units power_units(const stage::Step& step, int dimensions) const {
    const Units length(step.units(mesh_));
    if (contrast_) return length.power(dimensions);
    const Units a(step.units(name_));
    return length.power(dimensions) * a * (other_.empty() ? a : Units(step.units(other_)));
  }

  [[nodiscard]] std::string table_name() const { return "power_spectrum_" + subject(); }
  [[nodiscard]] std::string table_name(int axis) const {
    return table_name() + "_axis_" + std::to_string(axis);
  }
  [[nodiscard]] std::string subject() const {
    return other_.empty() ? name_ : name_ + "_" + other_;
  }

  /// V/N of the contrast, or of a field with that mean; 0 if no shot noise is subtracted.
  [[nodiscard]] double shot_noise(const Volume& volume, const Shells::Sums& sums) const {
    if (!particles_.is_wanted()) return 0;
    const double mean = contrast_ ? 1 : sums.mean_a / volume.count();
    return volume.size() / particle_number_ * mean * mean;
  }

  [[nodiscard]] stage::Table spectrum(const stage::Step& step, const Volume& volume, Shells& shells,
                                      double scale, double unit) const {
    using std::numbers::pi;
    const auto& sums = shells.sums();
    const auto& edges = shells.edges();
    const double noise = shot_noise(volume, sums);
    std::vector<double> lower, upper, k, power, error, dimensionless;
    for (size_t s = 0; s < sums.modes.size(); ++s) {
      const auto n = static_cast<double>(sums.modes[s]);
      const auto mean = [&](double sum) { return n > 0 ? sum / n : std::nan(""); };
      lower.push_back(edges[s] * unit);
      upper.push_back(edges[s + 1] * unit);
      k.push_back(mean(sums.k[s]) * unit);
      const double p = mean(sums.power[s]) * scale;
      power.push_back(p - noise * mean(sums.noise[s]));
      // Of a Gaussian field: each mode and its conjugate are one draw. The noise that is taken off
      // was drawn, too, where the particles that are there have none.
      const double drawn = std::max(p, noise * mean(sums.noise[s]));
      error.push_back(other_.empty() ? drawn * std::sqrt(2 / n) : cross_error(volume, sums, s, p));
      dimensionless.push_back(power.back() * std::pow(k.back(), volume.dimensions()) /
                              shell_area(volume));
    }
    const auto inverse = Units(step.units(mesh_)).power(-1).text();
    const auto units = power_units(step, volume.dimensions()).text();
    stage::Table out(table_name(), other_.empty()
                                       ? "Power spectrum of " + name_
                                       : "Cross spectrum of " + name_ + " and " + other_);
    out.column("k", inverse, k).column("power", units, power);
    out.column("error", units, error).role(PILLION_COLUMN_ERROR, "power");
    out.column("dimensionless", power_units(step, 0).text(), dimensionless);
    out.column("modes", "", sums.modes)
        .role(PILLION_COLUMN_COUNT)
        .column("k_lower", inverse, lower);
    out.column("k_upper", inverse, upper);
    out.attribute("mean", sums.mean_a / volume.count(), step.units(name_));
    out.attribute("variance", sums.all * scale / volume.size(), power_units(step, 0).text());
    out.attribute("k_nyquist", volume.nyquist(), inverse);
    out.attribute("modes_in_no_shell", modes_outside(volume, sums));
    out.attribute("scale", "log");  // how it is looked at
    if (particles_.is_wanted()) {
      out.attribute("shot_noise", noise, units);
      out.attribute("particles", particle_number_);
    }
    if (not_finite_ > 0) out.attribute("not_finite", static_cast<double>(not_finite_));
    return out.per_step();
  }

  /// sqrt((P_ab^2 + P_a P_b) / N) over independent modes.
  [[nodiscard]] double cross_error(const Volume& volume, const Shells::Sums& sums, size_t s,
                                   double p) const {
    const auto n = static_cast<double>(sums.modes[s]);
    const double cells = volume.count();
    double scale = volume.size() / (cells * cells), scale_a = scale, scale_b = scale;
    if (contrast_) {
      scale_a /= sums.mean_a / cells * sums.mean_a / cells;
      scale_b /= sums.mean_b / cells * sums.mean_b / cells;
    }
    return std::sqrt((p * p + sums.own_a[s] / n * scale_a * (sums.own_b[s] / n * scale_b)) / n);
  }

  /// What k^d P is divided by to be the variance per logarithm of k.
  [[nodiscard]] static double shell_area(const Volume& volume) {
    using std::numbers::pi;
    const int dimensions = volume.dimensions();
    return dimensions == 3 ? 2 * pi * pi : dimensions == 2 ? 2 * pi : pi;
  }

  /// Of waves in the corners of the transform, and of long ones below the first shell.
  [[nodiscard]] static double modes_outside(const Volume& volume, const Shells::Sums& sums) {
    double inside = 0;
    for (const int64_t modes : sums.modes) inside += static_cast<double>(modes);
    return volume.count() - 1 - inside;
  }

  /// L / N^2 times the sum over the modes across, which is V / N^2 over the area across. The window
  /// is undone along the lines: those of cells across are what they are.
  [[nodiscard]] stage::Table line_of_sight(const stage::Step& step, const Volume& volume,
                                           Shells& shells, double scale, int axis) const {
    const auto& sums = shells.sums();
    const auto d = static_cast<size_t>(axis);
    const double across = volume.size() / volume.lengths[d];
    std::vector<double> k, power;
    for (int64_t n = 1; n < static_cast<int64_t>(sums.planes[d].size()); ++n) {
      const bool both = axis > 0 && 2 * n != volume.cells[d];
      k.push_back(volume.fundamental(axis) * static_cast<double>(n));
      power.push_back(sums.planes[d][static_cast<size_t>(n)] / (both ? 2 : 1) * scale / across *
                      shells.undone_along(axis, n, !other_.empty()));
    }
    stage::Table out(table_name(axis),
                     "Power spectrum of " + subject() + " along axis " + std::to_string(axis));
    out.column("k", Units(step.units(mesh_)).power(-1).text(), k);
    out.column("power", power_units(step, 1).text(), power);
    constexpr const char* windows[] = {"none", "ngp", "cic", "tsc"};
    out.attribute("window_along_lines", std::string(windows[clouds_.undo_a]));
    if (not_finite_ > 0) out.attribute("not_finite", static_cast<double>(not_finite_));
    return out.per_step();
  }

  std::string name_, other_;
  pillion_field_description field_;
  std::string mesh_;
  bool contrast_;
  Clouds clouds_;
  ParticleNumber particles_;
  double particle_number_ = 0;  ///< at this publication
  bool is_log_;
  int64_t bins_;
  double width_;
  int layout_;
  std::set<int> lines_;
  int64_t not_finite_ = 0;  ///< values of this publication
  int32_t input_ = 0;
  std::optional<Transform> transform_, second_;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Scalar field on a periodic uniform mesh"},
    {"with", "field", "null", "Second field: the cross spectrum of the two"},
    {"contrast", "true | false", "true",
     "Of f / mean - 1, as densities are compared, or of the field as it is"},
    {"scale", "linear | log", "linear", "Shells of equal width or of equal ratio"},
    {"width", "number", "1", "Width of linear shells, in units of 2 pi / L of the longest axis"},
    {"bins", "integer", "null", "Number of logarithmic shells"},
    {"window", "none | ngp | cic | tsc", "none", "How particles were put on the mesh, to undo it"},
    {"with_window", "none | ngp | cic | tsc", "none", "The same for the second field"},
    {"shot_noise", "number | field", "null",
     "Number of particles, whose shot noise is subtracted; or the field of their masses, or of "
     "positions, which tells it at each step"},
    {"cloud", "ngp | cic | tsc", "null",
     "How particles were put on the mesh, for `shot_noise`; as `window` if that is given"},
    {"line_of_sight", "list of axes", "null", "Axes along which there is a spectrum of lines, too"},
    {"layout", "auto | slabs | pencils", "auto", "How the mesh is divided among the peers"},
};

}  // namespace
}  // namespace pillion::stages::power_spectrum

PILLION_STAGE(pillion::stages::power_spectrum::PowerSpectrum, "power_spectrum",
              "Power spectrum of a field on a periodic mesh",
              pillion::stages::power_spectrum::parameters)

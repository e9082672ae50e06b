// SPDX-License-Identifier: BSD-3-Clause
// The stage `rdf`: radial distribution functions of pairs of species, averaged over publications.
// Each peer counts the pairs whose first particle it owns; copies of all within the cutoff come
// with the layout. See README.md here for definitions.
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/options.hpp"
#include "../common/particles.hpp"
#include "../common/units.hpp"
#include "count_pairs.hpp"
#include "species_pairs.hpp"

namespace pillion::stages::rdf {
namespace {

class Rdf final : public stage::Stage {
 public:
  explicit Rdf(stage::Setup& setup)
      : selection_(species_of(setup["species"])),
        plan_(selection_, pairs_of(setup["pairs"], selection_)),
        rule_{cutoff_of(setup["cutoff"]), bins_of(setup["bins"]),
              choice(setup["exclude"], {"none", "molecule"}) == 1},
        density_(static_cast<Density>(choice(setup["density"], {"N", "N-1"}))),
        mesh_(particle_field(setup, "position", 3, Numbers::real).mesh),
        sums_(plan_, selection_.size(), rule_.bins) {
    particle_field(setup, "type", 1, Numbers::integer);
    const auto position = setup["position"].text(), type = setup["type"].text();
    std::vector<std::string> fields = {position, type};
    if (rule_.skip_same_molecule) {
      particle_field(setup, "molecule", 1, Numbers::integer, "needed because of `exclude`");
      fields.push_back(setup["molecule"].text());
    }
    setup.product("rdf.csv");
    setup.survives_failures();
    input_ = setup.input(
        stage::Input::spatial(position, rule_.cutoff, fields).where(type, selection_.types()));
    // Doubles by class, as read and sorted into cells, which are up to twice as many.
    setup.memory((rule_.skip_same_molecule ? 164 : 140) / bytes_of(setup, fields));
  }

  void run(stage::Step& step) override {
    const auto domain = step.domain(mesh_);
    check(step, domain);
    sums_.dimensions = dimensions(domain);
    const auto sets = read(step);
    std::vector<int64_t> in_class;
    for (size_t c = 0; c < plan_.classes(); ++c) in_class.push_back(sets[c].size());
    step.sum(std::span(in_class));
    auto counts = count(sets, in_class);
    step.sum(std::span(counts));
    sums_.add(plan_, counts, in_class, volume(domain), density_, step.coarsening(mesh_));
    if (step.products_due()) step.write(table(step));
  }
  void finish(stage::Step& step) override {
    if (sums_.frames > 0) step.write(table(step));
  }

  void save(stage::State& state) const override {
    const auto text = signature();
    state.save("options", std::vector<char>(text.begin(), text.end()));
    state.save("frames", std::vector<int64_t>{sums_.frames, sums_.coarse_frames, sums_.dimensions});
    state.save("counts", sums_.counts);
    state.save("expected", sums_.expected);
    state.save("particles", sums_.particles);
    state.save("density", sums_.density);
    state.save("centres", sums_.centres);
  }
  void restore(stage::State& state) override {
    const auto saved = state.load<char>("options");
    const std::string text(saved.begin(), saved.end());
    if (text != signature())
      throw Error(ErrorCode::Configuration, "saved with other parameters (" + text +
                                                ") than those of this run (" + signature() + ")");
    const auto frames = state.load<int64_t>("frames");
    sums_.frames = frames.at(0);
    sums_.coarse_frames = frames.at(1);
    sums_.dimensions = frames.at(2);
    sums_.counts = state.load<int64_t>("counts");
    sums_.expected = state.load<double>("expected");
    sums_.particles = state.load<double>("particles");
    sums_.density = state.load<double>("density");
    sums_.centres = state.load<double>("centres");
  }

 private:
  /// Beyond half the domain a particle would meet the same partner twice.
  void check(const stage::Step& step, const pillion_domain& domain) const {
    const double range = nearest_image_range(domain);
    if (rule_.cutoff > range)
      throw Error(ErrorCode::Stage,
                  "the cutoff " + std::to_string(rule_.cutoff) +
                      " is larger than half the smallest width of the periodic domain, " +
                      std::to_string(range) + " at step " + std::to_string(step.index()) +
                      "; choose a smaller cutoff");
  }

  /// Particles by class: first the owned ones of each, then the copies.
  [[nodiscard]] std::vector<Points> read(const stage::Step& step) const {
    std::vector<Points> sets(2 * plan_.classes());
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const auto at = read_vectors(block[0], block.count());
      const auto type = read_component<int64_t>(block[1], block.count(), 0);
      std::vector<int64_t> molecule;
      if (rule_.skip_same_molecule) molecule = read_component<int64_t>(block[2], block.count(), 0);
      for (int64_t i = 0; i < block.count(); ++i) {
        const auto members = selection_.membership(type[i]);
        if (members == 0) continue;
        auto& set = sets[plan_.class_of(members) + (i < block.owned() ? 0 : plan_.classes())];
        for (int axis = 0; axis < 3; ++axis)
          set.at[axis].push_back(axis < sums_.dimensions ? at[axis][i] : 0);
        if (rule_.skip_same_molecule) set.molecule.push_back(molecule[i]);
      }
    }
    return sets;
  }

  /// Ordered pairs of each two classes by bin, as far as this peer owns the first particle. Of two
  /// classes the one with fewer particles has the first, the same on every peer.
  [[nodiscard]] std::vector<int64_t> count(const std::vector<Points>& sets,
                                           const std::vector<int64_t>& in_class) const {
    std::vector<CellList> lists;
    for (const auto& set : sets) lists.emplace_back(set, rule_.cutoff);
    std::vector<int64_t> counts(plan_.class_pairs().size() * rule_.bins);
    auto row = std::span(counts);
    for (auto [a, b] : plan_.class_pairs()) {
      if (in_class[b] < in_class[a]) std::swap(a, b);
      const auto bins = row.first(rule_.bins);
      if (a == b) count_pairs_within(lists[a], rule_, bins);
      else count_pairs(lists[a], lists[b], rule_, bins);
      count_pairs(lists[a], lists[plan_.classes() + b], rule_, bins);
      row = row.subspan(rule_.bins);
    }
    return counts;
  }

  [[nodiscard]] stage::Table table(const stage::Step& step) const {
    const Units length(step.units(mesh_));
    stage::Table out("rdf", "Radial distribution functions");
    out.column("r", length.text(), radii(rule_.cutoff, rule_.bins));
    for (size_t p = 0; p < plan_.pairs().size(); ++p) {
      const auto& pair = plan_.pairs()[p];
      const auto counts = plan_.counts(pair, sums_.counts, rule_.bins);
      out.column("g_" + pair.name, "",
                 distribution(counts, sums_.expected[p], rule_.cutoff, sums_.dimensions));
      out.column("n_" + pair.name, "", coordination(counts, sums_.centres[pair.a]));
      out.column("count_" + pair.name, "", counts).role(PILLION_COLUMN_COUNT, "g_" + pair.name);
    }
    describe(out, length.power(-static_cast<int>(sums_.dimensions)).text());
    return out;
  }

  void describe(stage::Table& out, const std::string& density_units) const {
    const auto frames = static_cast<double>(sums_.frames);
    std::string absent;
    out.attribute("frames", frames);
    if (sums_.dimensions == 2) out.attribute("dimensions", 2);
    if (sums_.coarse_frames > 0)
      out.attribute("coarse_frames", static_cast<double>(sums_.coarse_frames));
    for (size_t s = 0; s < selection_.size(); ++s) {
      const auto& name = selection_.name(s);
      out.attribute("particles_" + name, sums_.particles[s] / frames);
      out.attribute("density_" + name, sums_.density[s] / frames, density_units);
      if (sums_.particles[s] == 0) absent += (absent.empty() ? "" : ", ") + name;
    }
    out.attribute("normalisation", density_ == Density::others ? "N-1" : "N");
    out.attribute("exclude", rule_.skip_same_molecule ? "molecule" : "none");
    if (!absent.empty()) out.attribute("species_without_particles", absent);
  }

  [[nodiscard]] std::string signature() const {
    std::string text = "species " + selection_.signature() + " pairs";
    for (const auto& pair : plan_.pairs()) text += " " + pair.name;
    return text + " cutoff " + std::to_string(rule_.cutoff) + " bins " +
           std::to_string(rule_.bins) + (rule_.skip_same_molecule ? " exclude molecule" : "") +
           (density_ == Density::others ? " N-1" : " N");
  }

  Selection selection_;
  PairPlan plan_;
  PairRule rule_;
  Density density_;
  std::string mesh_;
  Averages sums_;
  int32_t input_ = 0;
};

const pillion_parameter parameters[] = {
    {"species", "map of lists of types", nullptr,
     "Named sets of particle types, {O: [2], ion: [3, 4]}"},
    {"pairs", "list of pairs of species", nullptr, "Pairs to count, [[ion, O], [O, O]]"},
    {"cutoff", "length", nullptr, "Largest distance, in the mesh's units"},
    {"bins", "integer", "200", "Number of bins from 0 to the cutoff"},
    {"position", "field", "position", "Positions, three components"},
    {"type", "field", "type", "Integer types"},
    {"molecule", "field", "molecule", "Molecule ids, 0 for none; read only to exclude"},
    {"exclude", "none | molecule", "none", "Pairs to leave out: none, or those of one molecule"},
    {"density", "N | N-1", "N-1",
     "Density that g compares with: of all particles B, or of the particles other than "
     "the first"},
};

}  // namespace
}  // namespace pillion::stages::rdf

PILLION_STAGE(pillion::stages::rdf::Rdf, "rdf", "Radial distribution functions of pairs of species",
              pillion::stages::rdf::parameters)

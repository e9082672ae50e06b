// SPDX-License-Identifier: BSD-3-Clause
// Stages that follow or pair particles, some of whose publications are coarse: compared with every
// pair and every origin by plain loops over the particles that are there, wherever they are.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <set>

#include "played.hpp"
#include "stagehost/state.hpp"

using namespace pillion;
using test::Play;

namespace {

using Vector = std::array<double, 3>;

struct Particle {
  int64_t id;
  int32_t type;
  int64_t molecule;
  double mass;
  Vector x, v;
};
using Frame = std::vector<Particle>;

constexpr double edge = 20;
constexpr int64_t count = 600;

/// Small random steps on top of a drift that is much larger, from places all over the domain.
std::vector<Frame> trajectory(size_t length) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> place(0, edge), weight(1, 3);
  std::normal_distribution<double> step(0, 0.1);
  Frame frame;
  for (int64_t n = 0; n < count; ++n)
    frame.push_back({1 + 2 * n,
                     n % 3 == 0 ? 2 : 1,
                     1 + n / 3,
                     weight(random),
                     {place(random), place(random), place(random)},
                     {}});
  std::vector<Frame> out;
  for (size_t f = 0; f < length; ++f) {
    for (auto& p : frame)
      for (size_t a = 0; a < 3; ++a) {
        p.v[a] = step(random) + 2.0 * static_cast<double>(a);
        p.x[a] += p.v[a];
      }
    out.push_back(frame);
  }
  return out;
}

model::Catalogue catalogue() {
  return test::catalogue_of(
      "meshes: {atoms: {kind: particles}}\nfields:\n"
      "  id: {mesh: atoms, type: int64}\n  type: {mesh: atoms, type: int32}\n"
      "  molecule: {mesh: atoms, type: int64}\n  mass: {mesh: atoms, type: float64}\n"
      "  position: {mesh: atoms, type: float64, components: 3}\n"
      "  velocity: {mesh: atoms, type: float64, components: 3}\n");
}

/// Particles of a frame as one block; the memory is that of `frame`.
model::MeshBlocks share(const Frame& frame) {
  constexpr auto wide = static_cast<int64_t>(sizeof(Particle) / 8);
  static_assert(sizeof(Particle) % 8 == 0);
  const auto n = static_cast<int64_t>(frame.size());
  model::Block block{0, {{0, 0, 0}, {n, 1, 1}}, n, {}};
  const auto add = [&](const char* name, const void* at, model::ElementType type, int components) {
    const int64_t stride = type == model::ElementType::Int32 ? 2 * wide : wide;
    block.arrays[name] = {at, type, components, {stride, 0, 0, 1}};
  };
  const Particle none{};
  const Particle& p = frame.empty() ? none : frame.front();
  add("id", &p.id, model::ElementType::Int64, 1);
  add("type", &p.type, model::ElementType::Int32, 1);
  add("molecule", &p.molecule, model::ElementType::Int64, 1);
  add("mass", &p.mass, model::ElementType::Float64, 1);
  add("position", p.x.data(), model::ElementType::Float64, 3);
  add("velocity", p.v.data(), model::ElementType::Float64, 3);
  return {{block}, {}};
}

stagehost::Publication publication(const Frame& mine, size_t step, int level) {
  const auto all = catalogue();
  stagehost::Publication out;
  out.step = static_cast<int64_t>(step);
  out.time = 0.5 * static_cast<double>(step);
  out.coarsening = level;
  out.meshes["atoms"] = model::coarsen(share(mine), all.mesh("atoms"), level, "id");
  out.domains["atoms"] = {{0, 0, 0}, {edge, edge, edge}, {0, 0, 0}, {1, 1, 1}, 0};
  return out;
}

/// What a rank holds: another part at every step.
Frame part_of(const Frame& frame, size_t step, const comm::Communicator& world) {
  Frame out;
  for (const auto& p : frame)
    if ((p.id * 7 + static_cast<int64_t>(step)) / 5 % world.size() == world.rank())
      out.push_back(p);
  return out;
}

/// What there is of a frame at a level: coarsen's choice, which has a test of its own.
Frame seen(const Frame& frame, int level) {
  const auto all = catalogue();
  const auto left = model::coarsen(share(frame), all.mesh("atoms"), level, "id");
  const auto& array = left.blocks[0].arrays.at("id");
  std::set<int64_t> ids;
  for (int64_t i = 0; i < left.blocks[0].owned; ++i)
    ids.insert(static_cast<const int64_t*>(array.data)[i * array.strides[0]]);
  Frame out;
  std::copy_if(frame.begin(), frame.end(), std::back_inserter(out),
               [&](const Particle& p) { return ids.contains(p.id); });
  return out;
}

const std::vector<int> levels = {0, 2, 0, 1, 3, 1, 0};

/// Plays the trajectory at these levels, resuming from a checkpoint once.
test::Played play(const comm::Communicator& world, const std::string& stage,
                  const std::string& product, const std::vector<int>& at_levels) {
  const test::SharedFolder folder(world), saved(world);
  const auto frames = trajectory(at_levels.size());
  const size_t half = frames.size() / 2;
  const auto go = [&](Play& chain, size_t from, size_t to) {
    for (size_t f = from; f < to; ++f) {
      const Frame mine = part_of(frames[f], f, world);
      chain.run(publication(mine, f, at_levels[f]));
    }
  };
  {
    Play first(world, catalogue(), stage, folder.path());
    go(first, 0, half);
    const auto leaders = world.split(world.rank() == 0 ? 0 : -1);
    first.chain().save(saved.path() + "/state", {world, world, leaders}, 0, false);
    world.barrier();
  }
  Play second(world, catalogue(), stage, folder.path());
  second.chain().restore(saved.path() + "/state", world, 0);
  go(second, half, frames.size());
  second.finish();
  return test::read_table(folder.path() + "/a/" + product + ".csv");
}

/// Particles of a species that are in both frames, as they are in each.
std::vector<std::pair<Particle, Particle>> common(const Frame& a, const Frame& b, int32_t type) {
  std::vector<std::pair<Particle, Particle>> out;
  for (const auto& p : a)
    for (const auto& q : b)
      if (p.id == q.id && (type == 0 || p.type == type)) out.emplace_back(p, q);
  return out;
}

/// Means of a species' particles: sum and number of terms of all origins at each lag.
struct Expected {
  std::vector<double> sum, samples;
};

enum class Drift { none, species, system };

/// Every publication is an origin.
Expected expected(bool displacement, int32_t type, Drift drift) {
  const auto whole = trajectory(levels.size());
  std::vector<Frame> frames;
  for (size_t f = 0; f < whole.size(); ++f) frames.push_back(seen(whole[f], levels[f]));
  Expected out{std::vector<double>(frames.size()), std::vector<double>(frames.size())};
  for (size_t then = 0; then < frames.size(); ++then)
    for (size_t now = then; now < frames.size(); ++now) {
      std::array<Vector, 2> centre{};
      double mass = 0;
      if (drift != Drift::none)
        for (const auto& [p, q] :
             common(frames[then], frames[now], drift == Drift::species ? type : 0)) {
          mass += p.mass;
          for (size_t a = 0; a < 3; ++a) {
            centre[0][a] += p.mass * (displacement ? p.x : p.v)[a];
            centre[1][a] += p.mass * (displacement ? q.x : q.v)[a];
          }
        }
      for (const auto& [p, q] : common(frames[then], frames[now], type)) {
        for (size_t a = 0; a < 3; ++a) {
          const double before =
              (displacement ? p.x : p.v)[a] - (mass > 0 ? centre[0][a] / mass : 0);
          const double after = (displacement ? q.x : q.v)[a] - (mass > 0 ? centre[1][a] / mass : 0);
          out.sum[now - then] +=
              displacement ? (after - before) * (after - before) : after * before;
        }
        out.samples[now - then] += 1;
      }
    }
  return out;
}

void check_correlation(const comm::Communicator& world, const std::string& stage,
                       const std::string& vector, const std::string& drift, Drift kind) {
  const auto table = play(world,
                          "- " + stage + ": {species: {A: [1], B: [2]}, " + vector +
                              ", remove_drift: " + drift + ", origins: {every: 1, keep: 20}}\n",
                          stage, levels);
  REQUIRE(table.rows() == levels.size());
  for (const int32_t type : {1, 2}) {
    const std::string name = type == 1 ? "A" : "B";
    const auto right = expected(stage == "msd", type, kind);
    for (size_t lag = 0; lag < levels.size(); ++lag) {
      CAPTURE(lag);
      CHECK(table["samples_" + name][lag] == right.samples[lag]);
      CHECK(table[stage + "_" + name][lag] ==
            doctest::Approx(right.sum[lag] / right.samples[lag]).epsilon(1e-9));
    }
  }
}

}  // namespace

TEST_CASE("correlations are averaged over the particles that are there at both ends") {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const auto& [drift, kind] :
       {std::pair{"none", Drift::none}, {"species", Drift::species}, {"system", Drift::system}}) {
    CAPTURE(std::string(drift));
    check_correlation(world, "msd", "image: null", drift, kind);
    check_correlation(world, "vacf", "velocity: velocity", drift, kind);
  }
}

TEST_CASE("a drift taken off coarse publications leaves the motion, not the choice of particles") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto table =
      play(world, "- msd: {image: null, remove_drift: system, origins: first}\n", "msd", levels);
  // Three components of variance 0.1^2 per step; centres of subsets lie up to 1 apart.
  for (size_t lag = 1; lag < levels.size(); ++lag)
    CHECK(table["msd_all"][lag] ==
          doctest::Approx(0.03 * static_cast<double>(lag)).epsilon(levels[lag] == 3 ? 0.4 : 0.25));
}

TEST_CASE("molecules of which parts are missing are left out, and counted") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const char* const stage = "- msd: {image: null, per: molecule, origins: {every: 1, keep: 20}}\n";
  const auto table = play(world, stage, "msd", levels);
  CHECK(table.attributes.at("coarse_publications_left_out") == 4);
  // Whole are the publications 0, 2 and 6.
  CHECK(table["lag_steps"] == std::vector<double>{0, 2, 4, 6});
  constexpr double molecules = count / 3;
  CHECK(table["samples_all"] ==
        std::vector<double>{3 * molecules, molecules, molecules, molecules});
  const auto nothing = play(world, stage, "msd", {1, 2, 3});
  CHECK(nothing.rows() == 0);
  CHECK(nothing.attributes.at("coarse_publications_left_out") == 3);
  const auto whole = play(world, stage, "msd", {0, 0});
  CHECK_FALSE(whole.attributes.contains("coarse_publications_left_out"));
}

namespace {

/// Ordered pairs by bin, and what they are divided by, summed over frames.
struct Pairs {
  std::vector<double> counts;
  double expected = 0, centres = 0, number = 0;
};

constexpr int bins = 12;
constexpr double cutoff = 6;

void add_pairs(Pairs& sums, const Frame& frame, int32_t a, int32_t b, double coarsening) {
  double n_a = 0, n_b = 0;
  for (const auto& p : frame) {
    n_a += p.type == a ? 1 : 0;
    n_b += p.type == b ? 1 : 0;
    for (const auto& q : frame) {
      if (p.type != a || q.type != b || p.id == q.id) continue;
      double squares = 0;
      for (size_t d = 0; d < 3; ++d) {
        const double apart = std::remainder(p.x[d] - q.x[d], edge);
        squares += apart * apart;
      }
      const auto bin = static_cast<size_t>(std::sqrt(squares) / cutoff * bins);
      if (bin < bins) sums.counts[bin] += 1;
    }
  }
  sums.expected += n_a * (a == b ? n_a - 1 : n_b) / (edge * edge * edge);
  sums.centres += n_a / coarsening;
  sums.number += n_a;
}

}  // namespace

TEST_CASE("pairs of a subsample are compared with the density of the subsample") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const char* const stage =
      "- rdf: {species: {A: [1], B: [2]}, pairs: [[A, B], [B, B]], cutoff: 6, bins: 12}\n";
  const auto table = play(world, stage, "rdf", levels);
  CHECK(table.attributes.at("frames") == static_cast<double>(levels.size()));
  CHECK(table.attributes.at("coarse_frames") == 4);
  const auto frames = trajectory(levels.size());
  for (const auto& [name, a, b] : {std::tuple{"A_B", 1, 2}, {"B_B", 2, 2}}) {
    CAPTURE(std::string(name));
    Pairs sums{std::vector<double>(bins)};
    for (size_t f = 0; f < frames.size(); ++f)
      add_pairs(sums, seen(frames[f], levels[f]), a, b, std::pow(2.0, levels[f]));
    CHECK(table[std::string("count_") + name] == sums.counts);
    double partners = 0;
    for (int i = 0; i < bins; ++i) {
      const auto at = static_cast<size_t>(i);
      const double shell = 4 * std::numbers::pi / 3 *
                           (std::pow((i + 1) * cutoff / bins, 3) - std::pow(i * cutoff / bins, 3));
      partners += sums.counts[at];
      CHECK(table[std::string("g_") + name][at] ==
            doctest::Approx(sums.counts[at] / shell / sums.expected));
      CHECK(table[std::string("n_") + name][at] == doctest::Approx(partners / sums.centres));
    }
    if (a == b)
      CHECK(table.attributes.at("particles_B") ==
            doctest::Approx(sums.number / static_cast<double>(levels.size())));
    // Independent particles: g is 1, and there are as many partners as the whole density says.
    const double ball = 4 * std::numbers::pi / 3 * cutoff * cutoff * cutoff;
    CHECK(partners / ball / sums.expected == doctest::Approx(1).epsilon(0.06));
    CHECK(table[std::string("n_") + name].back() ==
          doctest::Approx(ball * (count / 3.0) / (edge * edge * edge)).epsilon(0.1));
  }
}

TEST_CASE("tables of runs that were never coarse do not mention it") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto table = play(
      world, "- rdf: {species: {A: [1]}, pairs: [[A, A]], cutoff: 6, bins: 12}\n", "rdf", {0, 0});
  CHECK_FALSE(table.attributes.contains("coarse_frames"));
}

TEST_CASE("a level that there is not is an error, not a crash") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world);
  Play chain(world, catalogue(), "- statistics: {fields: [mass]}\n", folder.path());
  auto broken = publication(part_of(trajectory(1)[0], 0, world), 0, 0);
  broken.coarsening = 99;
  stagehost::ExecutionContext context;
  context.peers = &world;
  const auto failure = chain.chain().run(broken, context);
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("coarsening level 99") != std::string::npos);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/conditions.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "run/run_spec.hpp"

using namespace pillion;
using namespace pillion::simulation;

namespace {

const std::string configuration_text =
    "output: x\n"
    "meshes: {g: {kind: uniform, cells: [64]}}\n"
    "fields: {d: {mesh: g, type: float64}, v: {mesh: g, type: float64, components: 2}}\n"
    "analyses:\n"
    "  a: {when: max(d) > 60, stages: [statistics: {fields: d}]}\n"
    "  b: {when: max(d) > 70 or min(d) < -1, stages: [statistics: {fields: d}]}\n"
    "  c: {when: 'mean(d) > 31 and max(v[0]) > 1', stages: [statistics: {fields: d}]}\n"
    "  d: {when: 'max(v[1]) > 0 and count(d) == 64', stages: [statistics: {fields: d}]}\n";

/// The cells of this rank hold their number.
struct Scene {
  run::Run run;
  std::vector<double> density, velocity;

  Scene() {
    run::RunSpec spec;
    spec.file = "run.yaml";
    spec.text = configuration_text;
    run.side = comm::Communicator(MPI_COMM_WORLD);
    run.for_conditions = run.side.duplicate();
    run.configuration = spec.configuration(0);
    run.accounts.resize(run.configuration.analyses.size());
  }

  void share(Sharing& sharing) {
    const int64_t lo = 64 * run.side.rank() / run.side.size();
    const int64_t hi = 64 * (run.side.rank() + 1) / run.side.size();
    for (int64_t cell = lo; cell < hi; ++cell) density.push_back(static_cast<double>(cell));
    velocity.assign(2 * density.size(), 2.0);
    sharing.share_box("d", 0, 0, &lo, &hi, density.data(), 0, nullptr);
    sharing.share_box("v", 0, 0, &lo, &hi, velocity.data(), 0, nullptr);
  }
};

}  // namespace

TEST_CASE("however many conditions look at a field, its values are gone through once") {
  Scene scene;
  Sharing sharing(scene.run.configuration.catalogue);
  scene.share(sharing);
  for (const size_t own : {4, 2, 0}) {
    CAPTURE(own);
    Conditions conditions(scene.run, own);
    for (const auto& analysis : scene.run.configuration.analyses) conditions.add(analysis);
    run::Agenda agenda(scene.run.configuration.analyses);
    policy::AttachedCost cost{0, 1, 7};
    conditions.start({0, 1}, sharing, 7, 0.5, cost);
    CHECK(conditions.passes() == 1);
    CHECK(conditions.was_for_attached() == (own == 0));
    REQUIRE(conditions.settle(agenda));
    CHECK(agenda.schedule_state(0).fired);
    CHECK_FALSE(agenda.schedule_state(1).fired);
    // Of the owner's two conditions and the attached ones, only those on `v` need another pass. A
    // field that both look at is gone through for each, so that each side pays for its own.
    conditions.start({3, 1, 0, 2}, sharing, 8, 0.6, cost);
    CHECK(conditions.passes() == 3);
    CHECK((cost.seconds > 0) == (own < 4));
    const auto agreed = conditions.settle(agenda);
    REQUIRE(agreed);
    CHECK(agreed->steps == 7);
    CHECK(agreed->running == 1);
    CHECK(agenda.schedule_state(0).fired);
    CHECK_FALSE(agenda.schedule_state(1).fired);
    CHECK(agenda.schedule_state(2).fired);
    CHECK(agenda.schedule_state(3).fired);
    CHECK_FALSE(conditions.settle(agenda));
  }
}

TEST_CASE("scalars, step and time are the first rank's, and what differs is found") {
  Scene scene;
  run::RunSpec spec;
  spec.file = "run.yaml";
  spec.text =
      "scalars: [a, b]\nanalyses:\n"
      "  x: {when: a < 1 and time < 1 and step == 7, stages: [statistics: {fields: d}]}\n";
  scene.run.configuration = spec.configuration(0);
  scene.run.scalars = {0.5 + scene.run.side.rank(), std::nan("")};
  Sharing sharing(scene.run.configuration.catalogue);
  Conditions conditions(scene.run, 1);
  conditions.add(scene.run.configuration.analyses[0]);
  CHECK(conditions.is_checked(0));
  CHECK(conditions.scalars() == std::set<size_t>{0});
  run::Agenda agenda(scene.run.configuration.analyses);
  policy::AttachedCost cost;
  conditions.start({0}, sharing, 7 + scene.run.side.rank(), 0.75, cost);
  REQUIRE(conditions.settle(agenda));
  CHECK(agenda.schedule_state(0).fired);
  const int last = scene.run.side.size() - 1;
  REQUIRE(conditions.difference().has_value() == (last > 0));
  if (last > 0) {
    CHECK(conditions.difference()->name == "the step");
    CHECK(conditions.difference()->greatest == 7 + last);
  }
  conditions.start({0}, sharing, 8, 0.75, cost);
  REQUIRE(conditions.settle(agenda));
  CHECK_FALSE(agenda.schedule_state(0).fired);
  REQUIRE(conditions.difference().has_value() == (last > 0));
  if (last == 0) return;
  CHECK(conditions.difference()->name == "scalar 'a'");
  CHECK(conditions.difference()->least == 0.5);
  CHECK(conditions.difference()->greatest == 0.5 + last);
}

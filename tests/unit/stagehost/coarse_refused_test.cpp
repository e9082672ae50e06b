// SPDX-License-Identifier: BSD-3-Clause
// Stages whose results from a coarse publication would be wrong say so to the host, which keeps
// such publications from them.
#include "played.hpp"

using namespace pillion;
using test::Play;

namespace {

const char* const catalogue =
    "meshes:\n  grid: {kind: uniform, cells: [4, 4, 4], periodic: true, units: Mpc}\n"
    "  atoms: {kind: particles}\n"
    "  refined: {kind: uniform, cells: [4, 4, 4], levels: {count: 2}}\n"
    "fields:\n  n: {mesh: grid, type: float64}\n  r: {mesh: refined, type: float64}\n  v: {mesh: "
    "grid, type: float64, components: 3}\n"
    "  x: {mesh: atoms, type: float64, components: 3}\n";

const std::map<std::string, std::string> refusing = {
    {"deposit", "- deposit: {position: x, mesh: grid, into: density}\n"},
    {"power_spectrum", "- power_spectrum: {field: n}\n"},
    {"lyman_alpha",
     "- lyman_alpha: {neutral_hydrogen: n, temperature: n, velocity: v, omega_m: 0.3, h: 0.7, "
     "redshift: 3}\n"},
};
const char* const taking =
    "- statistics: {fields: n}\n- histogram: {field: n, bins: 2, range: auto}\n";

}  // namespace

TEST_CASE("spectra and densities cannot be made of coarse publications") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world);
  const auto known = test::catalogue_of(catalogue);
  CHECK(Play(world, known, taking, folder.path()).chain().whole_for().empty());
  // Without the finest boxes, stages would see the cells that these cover.
  Play levels(world, known, "- statistics: {fields: r}\n", folder.path());
  CHECK(levels.chain().whole_for() == "statistics");
  for (const auto& [name, stage] : refusing) {
    Play play(world, known, taking + stage, folder.path());
    CHECK(play.chain().whole_for() == name);
    Play alone(world, known, stage, folder.path());
    stagehost::Publication coarse;
    coarse.step = 7;
    coarse.coarsening = 1;
    coarse.is_checked = true;  // it has no boxes
    const auto failure = alone.failure_of(coarse);
    REQUIRE(failure);
    CHECK(std::string(failure->what())
              .find("stage '" + name +
                    "' cannot use the coarsened "
                    "publication of step 7") != std::string::npos);
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// Particles brought to a stage's inputs, publication after publication, one of which fails on one
// rank alone.
#include <doctest/doctest.h>

#include <limits>

#include "../layout/random_particles.hpp"
#include "comm/agreement.hpp"
#include "stagehost/work.hpp"

using namespace pillion;
using namespace pillion::stagehost;
using namespace random_particles;
using layout::Kind;

namespace {

struct Stage {
  comm::Communicator world{MPI_COMM_WORLD};
  comm::Fence fence{world};
  model::Catalogue fields = catalogue();
  Plans plans;
  Movers movers;
  Input input;

  std::optional<Error> bring(const Request& request, const Publication& publication) {
    ExecutionContext context;
    context.peers = &world;
    context.fence = &fence;
    context.catalogue = &fields;
    context.plans = &plans;
    return fence.run([&] { input = stagehost::bring(request, publication, context, movers); });
  }
};

}  // namespace

TEST_CASE(
    "a particle that is nowhere on one rank is an error on all, and the next time all is well") {
  Stage stage;
  Random random(29);
  const int ranks = stage.world.size();
  for (int round = 0; round < 30; ++round) {
    const auto shape = some_shape(random);
    auto all = some_particles(shape, 100, random);
    const auto request = some_request(round % 3 == 0 ? Kind::ByKey : Kind::Spatial, shape, random);
    const bool fails = request.kind == Kind::Spatial && request.select.empty() && round % 2 == 0;
    if (fails)
      all[static_cast<size_t>(below(random, 100))].x[1] = std::numeric_limits<double>::quiet_NaN();
    const auto held = share_out(all, ranks, random);
    Publication publication;
    publication.meshes["atoms"] = held[static_cast<size_t>(stage.world.rank())].blocks;
    publication.domains["atoms"] = shape.domain;
    const auto failure = stage.bring(request, publication);
    CHECK(failure.has_value() == fails);
    if (fails) CHECK(std::string(failure->what()).find("not finite") != std::string::npos);
    if (failure) continue;
    REQUIRE(stage.input.blocks.size() == 1);
    const auto owned = stage.world.reduced(stage.input.blocks[0].cells.owned, comm::Operation::Sum);
    CHECK(owned == static_cast<int64_t>(selected(all, request).size()));
  }
}

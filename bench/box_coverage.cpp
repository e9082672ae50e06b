// SPDX-License-Identifier: BSD-3-Clause
// How long do ranks take to see that their boxes cover a mesh, each cell once? 10^4 to 10^6 cubes,
// and as many pencils, each rank's along the Z-order curve or dealt out in turn. Against
// MPI_Alltoallv of as many bytes as boxes have, a sort of the rank's boxes, and one reduction.
// On 1 to 8 ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <vector>

#include "layout/tiling.hpp"
#include "redistribution/coverage.hpp"
#include "timing.hpp"

namespace {

using namespace pillion;
using layout::Box;

constexpr int repetitions = 5;

/// Boxes along the curve, or those of every so manyth place in a grid.
std::vector<Box> boxes_here(const comm::Communicator& world, const Box& domain,
                            const std::array<int, 3>& sides, bool is_dealt) {
  std::vector<Box> boxes;
  if (!is_dealt) {
    for (const auto& place :
         layout::Tiling::powers_of_two(domain, sides, world.size()).places_of(world.rank()))
      boxes.push_back(place.box);
    return boxes;
  }
  const auto all = layout::Tiling::powers_of_two(domain, sides, 1).places_of(0);
  for (size_t n = static_cast<size_t>(world.rank()); n < all.size();
       n += static_cast<size_t>(world.size()))
    boxes.push_back(all[n].box);
  return boxes;
}

/// What any way to do it must do: bring boxes together, and look at each of them.
double bound(const comm::Communicator& world, const std::vector<Box>& boxes) {
  const auto size = static_cast<size_t>(world.size());
  const auto count = static_cast<int>(boxes.size() / size * sizeof(Box));
  std::vector<Box> from = boxes, to(boxes.size());
  return bench::seconds_of([&] {
    MPI_Alltoall(from.data(), count, MPI_BYTE, to.data(), count, MPI_BYTE, world.handle());
    std::sort(from.begin(), from.end(), [](const Box& a, const Box& b) { return a.lo < b.lo; });
  });
}

/// Seconds, the largest of all ranks.
double measure(const comm::Communicator& world, const char* name, const Box& domain,
               const std::array<int, 3>& sides, bool is_dealt) {
  const auto boxes = boxes_here(world, domain, sides, is_dealt);
  const model::Mesh mesh{.name = "mesh", .units = {}, .cells = domain.hi};
  std::vector<redistribution::MeshBox> here;
  for (const auto& box : boxes) here.push_back({0, static_cast<int32_t>(here.size()), box});
  std::vector<double> ours, theirs;
  for (int r = 0; r < repetitions; ++r) {
    ours.push_back(bench::seconds_of(
        [&] { (void)redistribution::find_covered(world, here, mesh, "density"); }));
    theirs.push_back(bound(world, boxes));
  }
  const double seconds = world.reduced(bench::median(ours), comm::Operation::Max);
  const double least = world.reduced(bench::median(theirs), comm::Operation::Max);
  const auto total = world.reduced(static_cast<int64_t>(boxes.size()), comm::Operation::Sum);
  if (world.rank() == 0)
    std::printf(
        "{\"bench\": \"box_coverage\", \"case\": \"%s\", \"ranks\": %d, \"boxes\": %lld, "
        "\"seconds\": %.3g, \"alltoall_and_sort_seconds\": %.3g}\n",
        name, world.size(), static_cast<long long>(total), seconds, least);
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const comm::Communicator world(MPI_COMM_WORLD);
    const auto cubes = [&](int64_t n, bool is_dealt) {
      return measure(world, is_dealt ? "cubes dealt in turn" : "cubes",
                     {{0, 0, 0}, {8 * n, 8 * n, 8 * n}}, {3, 3, 3}, is_dealt);
    };
    const auto pencils = [&](int64_t n) {
      return measure(world, "pencils", {{0, 0, 0}, {1 << 10, n, n}}, {10, 0, 0}, false);
    };
    const double e4 = cubes(22, false), e5 = cubes(47, false), e6 = cubes(100, false);
    const double dealt = cubes(100, true), along = pencils(1000);
    if (world.rank() == 0)
      std::printf(
          "bench box_coverage: ranks=%d cubes_1e4=%.3g cubes_1e5=%.3g cubes_1e6=%.3g "
          "cubes_dealt_1e6=%.3g pencils_1e6=%.3g\n",
          world.size(), e4, e5, e6, dealt, along);
  }
  MPI_Finalize();
  return 0;
}

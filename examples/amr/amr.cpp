// SPDX-License-Identifier: BSD-3-Clause
// A block-structured mesh whose boxes follow a blob that a flow carries: three levels, each twice
// as fine as the one before. Every four steps the ranks lay new boxes and deal them out along a
// curve through space, so that boxes come, go and move between ranks. Pillion gets each box with
// its level, and finds out by itself which cells finer boxes cover.
//
// Usage: mpirun -n RANKS amr
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <pillion/session.hpp>
#include <utility>
#include <vector>

#include "blob.hpp"

namespace {

constexpr int64_t side = 8;    // cells of a box along each axis
constexpr int64_t across = 4;  // boxes of the coarsest level along each axis
constexpr int32_t levels = 3;
constexpr int steps = 24, steps_between_regrids = 4;
constexpr double time_step = 0.02;
// Where the blob is nearer than this to a box, the box is refined.
constexpr std::array<double, levels - 1> reach{1.1 * Blob::radius, 0.5 * Blob::radius};

/// A box of one level. All have the same number of cells.
struct Patch {
  int32_t level = 0;
  std::array<int64_t, 3> place{};  // in boxes of its level
  std::vector<double> density{};   // first axis fastest

  [[nodiscard]] double width() const {  // of the box
    return 1.0 / static_cast<double>(across << level);
  }
  [[nodiscard]] std::array<double, 3> corner(int64_t beyond = 0) const {
    std::array<double, 3> out{};
    for (size_t d = 0; d < 3; ++d) out[d] = static_cast<double>(place[d] + beyond) * width();
    return out;
  }
  [[nodiscard]] pillion::Box box() const {
    const auto& [i, j, k] = place;
    return pillion::Box({i * side, j * side, k * side},
                        {(i + 1) * side, (j + 1) * side, (k + 1) * side})
        .on_level(level);
  }
};

/// Its place along the Z-order curve: the bits of the three numbers in turns.
uint64_t along_curve(const std::array<int64_t, 3>& place) {
  uint64_t key = 0;
  for (unsigned bit = 0; bit < 16; ++bit)
    for (unsigned d = 0; d < 3; ++d)
      key |= (static_cast<uint64_t>(place[d]) >> bit & 1) << (3 * bit + d);
  return key;
}

/// The eight boxes of the next level that lie in a box.
std::vector<Patch> children_of(const Patch& patch) {
  std::vector<Patch> out;
  for (int64_t n = 0; n < 8; ++n)
    out.push_back(
        {patch.level + 1,
         {2 * patch.place[0] + n % 2, 2 * patch.place[1] + n / 2 % 2, 2 * patch.place[2] + n / 4}});
  return out;
}

/// All boxes of the levels, properly nested, in the order of the curve within each.
std::vector<std::vector<Patch>> make_hierarchy(const Blob& blob) {
  std::vector<std::vector<Patch>> all(levels);
  for (int64_t n = 0; n < across * across * across; ++n)
    all[0].push_back({0, {n % across, n / across % across, n / across / across}});
  for (size_t l = 0; l + 1 < levels; ++l)
    for (const auto& patch : all[l])
      if (blob.distance(patch.corner(), patch.corner(1)) < reach[l])
        for (const auto& child : children_of(patch)) all[l + 1].push_back(child);
  for (auto& of_level : all)
    std::sort(of_level.begin(), of_level.end(), [](const Patch& a, const Patch& b) {
      return along_curve(a.place) < along_curve(b.place);
    });
  return all;
}

/// This rank's stretch of each level.
std::vector<Patch> own_patches(const Blob& blob, size_t rank, size_t ranks) {
  std::vector<Patch> out;
  for (auto& of_level : make_hierarchy(blob)) {
    const size_t count = of_level.size();
    for (size_t n = count * rank / ranks; n < count * (rank + 1) / ranks; ++n) {
      out.push_back(std::move(of_level[n]));
      out.back().density.resize(static_cast<size_t>(side * side * side));
    }
  }
  return out;
}

/// What a solver would do.
void advance(std::vector<Patch>& patches, const Blob& blob) {
  for (auto& patch : patches) {
    const auto corner = patch.corner();
    const double cell = patch.width() / static_cast<double>(side);
    size_t n = 0;
    for (int64_t k = 0; k < side; ++k)
      for (int64_t j = 0; j < side; ++j)
        for (int64_t i = 0; i < side; ++i) {
          std::array<double, 3> lo{static_cast<double>(i), static_cast<double>(j),
                                   static_cast<double>(k)},
              hi{};
          for (size_t d = 0; d < 3; ++d) {
            lo[d] = corner[d] + lo[d] * cell;
            hi[d] = lo[d] + cell;
          }
          patch.density[n++] = blob.mean(lo, hi);
        }
  }
}

/// Shares all boxes again. Those that were shared before and are no longer there are taken back.
// [share]
void share(pillion::Session& session, const std::vector<Patch>& patches) {
  session.begin_blocks("density");
  for (const auto& patch : patches)
    session.share("density", patch.density, patch.box(), pillion::any_block);
  session.end_blocks("density");
}
// [share]

void simulate(pillion::Session& session) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(session.communicator(), &rank);
  MPI_Comm_size(session.communicator(), &ranks);
  std::vector<Patch> patches;
  for (int step = 0; step <= steps; ++step) {
    const double time = step * time_step;
    const Blob blob(time);
    if (step % steps_between_regrids == 0) {
      auto next = own_patches(blob, static_cast<size_t>(rank), static_cast<size_t>(ranks));
      share(session, next);
      patches = std::move(next);  // memory of the old ones may go only now
    }
    advance(patches, blob);
    session.step(step, time);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    auto session = pillion::Session::open("pillion.yaml", MPI_COMM_WORLD);
    if (!session.serve()) {
      simulate(session);
      session.close();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "amr: %s\n", error.what());
    status = 1;
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}

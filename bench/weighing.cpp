// SPDX-License-Identifier: BSD-3-Clause
// What does it cost `statistics` to weigh values by the volume of their cells, and to leave out
// cells with flags? The same values on a uniform mesh, without and with flags, on a rectilinear
// one, and both; one after the other in each round.
//   bench_weighing [CELLS_PER_SIDE [ROUNDS]]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "statistics/moments.hpp"
#include "timing.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;

class Scene {
 public:
  explicit Scene(int64_t side)
      : n_{side, side, side}, values_(static_cast<size_t>(side * side * side)) {
    for (size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<double>(i * 2654435761u % 1000003) / 1000;
    flags_of_cells_.resize(values_.size());
    for (int64_t i = 0; i <= side; ++i)
      faces_.push_back(static_cast<double>(i) * (1 + 0.01 * static_cast<double>(i)));
    flags_.data = flags_of_cells_.data();
    for (size_t d = 0; d < 3; ++d) {
      flags_.strides[d] = d == 0 ? 1 : flags_.strides[d - 1] * side;
      block_.allocated.hi[d] = mesh_.cells[d] = side;
      mesh_.length[d] = 1;
    }
    mesh_.axes = 3;
    mesh_.levels = 1;
    mesh_.metric = field_.metric = PILLION_CARTESIAN;
  }

  /// Nanoseconds for a value.
  double measure(bool is_rectilinear, bool is_flagged) {
    mesh_.kind = field_.mesh_kind = is_rectilinear ? PILLION_RECTILINEAR : PILLION_UNIFORM;
    for (auto& axis : mesh_.coordinates) axis = is_rectilinear ? faces_.data() : nullptr;
    block_.flags = is_flagged ? &flags_ : nullptr;
    const stage::Array array{values_.data(), PILLION_FLOAT64, 1, {1, n_[0], n_[0] * n_[1], 1}};
    const double seconds = bench::seconds_of([&] {
      statistics::Moments moments;
      const auto weights = weights_of(mesh_, field_, stage::Block(&block_));
      for_each_weighted({&array, 0}, n_, weights,
                        [&](std::span<const double> values, std::span<const double> each) {
                          if (each.empty()) moments.add(values, weights.each);
                          else moments.add(values, each);
                        });
      kept_ += moments.mean;
    });
    return 1e9 * seconds / static_cast<double>(values_.size());
  }
  /// So that nothing is left out as unused.
  [[nodiscard]] double kept() const { return kept_; }

 private:
  Extent n_;
  std::vector<double> values_, faces_;
  std::vector<uint8_t> flags_of_cells_;
  pillion_array flags_{};
  pillion_mesh mesh_{};
  pillion_field_description field_{};
  pillion_block block_{};
  double kept_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int64_t side = argc > 1 ? std::atoll(argv[1]) : 192;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  Scene scene(side);
  const std::array<const char*, 4> names = {"plain", "flagged", "weighed", "both"};
  std::array<std::vector<double>, 4> times;
  for (int round = 0; round < rounds; ++round)
    for (size_t way = 0; way < names.size(); ++way)
      times[way].push_back(scene.measure(way >= 2, way % 2 == 1));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::array<double, 4> usual{};
  for (size_t way = 0; way < names.size(); ++way) {
    usual[way] = bench::median(times[way]);
    if (rank == 0)
      std::printf(
          "{\"bench\": \"weighing\", \"name\": \"%s\", \"value\": %.3f, \"unit\": \"ns\"}\n",
          names[way], usual[way]);
  }
  if (rank == 0)
    std::printf("bench weighing: plain=%.2fns flagged=%.2f weighed=%.2f both=%.2f%s\n", usual[0],
                usual[1] / usual[0], usual[2] / usual[0], usual[3] / usual[0],
                scene.kept() > 0 ? "" : " (nothing was computed)");
  MPI_Finalize();
  return 0;
}

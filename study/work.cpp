// SPDX-License-Identifier: BSD-3-Clause
// The order of the work, and who sends what to whom.
#include "work.hpp"

#include <algorithm>
#include <bit>

namespace study {

using pillion::layout::Wanted;

namespace {

Box mesh_of(int64_t cells) { return {{0, 0, 0}, {cells, cells, cells}}; }
Box waves_of(int64_t cells) { return {{0, 0, 0}, {cells / 2 + 1, cells, cells}}; }

double volume_of(const Tiling& tiling, int rank) {
  double volume = 0;
  for (const auto& place : tiling.places_of(rank))
    volume += static_cast<double>(place.box.volume());
  return volume;
}

double busiest(const Side& side, const Tiling& tiling) {
  return side.most([&](int rank) { return volume_of(tiling, rank); });
}

Exchange transposition(const Side& side, int64_t cells, int from, int to) {
  constexpr double complex_number = 16;
  const auto there = Tiling::pencils(waves_of(cells), 3, to, side.ranks());
  const auto here = Tiling::pencils(waves_of(cells), 3, from, side.ranks());
  return {side, [&](int rank) { return consignments(here, rank, {there}, complex_number); }};
}

/// One layer of cells around what each rank has, of so many bytes each.
Exchange layer(const Side& side, const Tiling& tiling, double bytes) {
  const Wanted grown{tiling, {1, 1, 1}, {true, true, true}};
  return {side, [&, grown](int rank) {
            auto out = consignments(tiling, rank, grown, bytes);
            std::erase_if(out, [&](const Consignment& c) { return c.rank == rank; });
            return out;
          }};
}

/// By rank, of one rank's blocks in a group: faces that do not touch the group, in cells.
class Surfaces {
 public:
  explicit Surfaces(const Tiling& blocks) {
    const Wanted grown{blocks, {1, 1, 1}, {true, true, true}};
    for (int r = 0; r < blocks.ranks(); ++r) {
      auto& faces = faces_.emplace_back();
      const auto box = blocks.places_of(r).front().box;
      for (size_t d = 0; d < 3; ++d)
        for (const bool upper : {false, true}) faces.push_back(face(blocks, box, d, upper));
    }
  }
  [[nodiscard]] double of(int first, int count) const {
    double cells = 0;
    for (int r = first; r < first + count; ++r)
      for (const auto& [rank, area] : faces_[static_cast<size_t>(r)])
        if (rank < first || rank >= first + count) cells += area;
    return cells;
  }

 private:
  struct Face {
    int rank;
    double cells;
  };
  /// One block is beyond it, since blocks are a regular grid.
  static Face face(const Tiling& blocks, const Box& box, size_t d, bool upper) {
    Box beyond = box;
    const int64_t whole = blocks.domain().hi[d];
    beyond.lo[d] = ((upper ? box.hi[d] : box.lo[d] - 1) + whole) % whole;
    beyond.hi[d] = beyond.lo[d] + 1;
    Face out{-1, static_cast<double>(box.volume() / box.extent(static_cast<int>(d)))};
    blocks.each_near(beyond, {0, 0, 0}, [&](const auto& place) { out.rank = place.rank; });
    return out;
  }
  std::vector<std::vector<Face>> faces_;
};

}  // namespace

Tiling boxes_of(int64_t cells, int ranks) {
  return Tiling::powers_of_two(mesh_of(cells), {5, 5, 5}, ranks);
}

std::vector<Consignment> consignments(const Tiling& from, int rank, const Wanted& to,
                                      double bytes_per_cell) {
  std::vector<Box> boxes;
  for (const auto& place : from.places_of(rank)) boxes.push_back(place.box);
  std::vector<Consignment> out;
  for (const auto& moves : pillion::layout::plan_moves(boxes, to))
    out.push_back({moves.rank, bytes_per_cell * static_cast<double>(moves.cells)});
  return out;
}

Transform::Transform(const Side& side, int64_t cells, const Kernels& kernels)
    : cells_(busiest(side, Tiling::pencils(mesh_of(cells), 3, 0, side.ranks()))),
      seconds_(kernels.at("transform") * cells_),
      first_(transposition(side, cells, 0, 1)),
      second_(transposition(side, cells, 1, 2)),
      second_back_(transposition(side, cells, 2, 1)),
      first_back_(transposition(side, cells, 1, 0)) {}

void Transform::pass() const { spend(seconds_ / 3); }

void Transform::forward() const {
  pass();
  first_();
  pass();
  second_();
  pass();
}

void Transform::backward() const {
  pass();
  second_back_();
  pass();
  first_back_();
  pass();
}

namespace {

constexpr double real_number = 8;
constexpr double particle = 56;  // id, position, momentum

}  // namespace

Solver::Solver(const Side& side, int64_t cells, const Kernels& kernels)
    : kernels_(kernels),
      transform_(side, cells, kernels),
      ghosts_(layer(side, Tiling::pencils(mesh_of(cells), 3, 0, side.ranks()), real_number)) {
  const auto pencils = Tiling::pencils(mesh_of(cells), 3, 0, side.ranks());
  const auto boxes = boxes_of(cells, side.ranks());
  boxes_ =
      Exchange(side, [&](int rank) { return consignments(pencils, rank, {boxes}, real_number); });
}

// Kick, drift, exchange of particles, deposit; potential; force and kick for each axis.
void Solver::step() const {
  const double seconds = kernels_.at("step_particles") * transform_.cells();
  spend(seconds / 4);
  ghosts_(kernels_.at("crossing") * particle / real_number);
  ghosts_();
  transform_.forward();
  for (int axis = 0; axis < 3; ++axis) {
    transform_.backward();
    ghosts_();
    spend(seconds / 4);
  }
}

Analyses::Analyses(const Side& side, int64_t cells, const Kernels& kernels)
    : side_(side),
      mesh_cells_(static_cast<double>(mesh_of(cells).volume())),
      block_cells_(busiest(side, Tiling::blocks(mesh_of(cells), 3, side.ranks()))),
      lines_(cells / 2),
      kernels_(kernels),
      transform_(side, cells, kernels) {
  const auto blocks = Tiling::blocks(mesh_of(cells), 3, side.ranks());
  asks_ = layer(side, blocks, kernels.at("asks"));
  rounds_ = rounds(blocks);
  constexpr double share = 64;  // bytes
  const double shares = kernels.at("shares") / side.ranks() * mesh_cells_;
  gathering_ = Exchange(side, [&](int) { return std::vector{Consignment{0, share * shares}}; });
}

// Ranks beyond the greatest power of two give theirs to one that takes part, as in the stage.
std::vector<Analyses::Round> Analyses::rounds(const Tiling& blocks) const {
  const int ranks = side_.ranks(), paired = static_cast<int>(std::bit_floor(unsigned(ranks)));
  const Surfaces surfaces(blocks);
  const double of_cell = kernels_.at("part");
  std::vector<Round> out;
  if (paired < ranks) {
    const auto give = [&](int rank) {
      std::vector<Consignment> mine;
      if (rank >= paired) mine.push_back({rank - paired, of_cell * surfaces.of(rank, 1)});
      return mine;
    };
    const double bytes = side_.most(
        [&](int rank) { return rank < ranks - paired ? 2 * of_cell * surfaces.of(rank, 1) : 0; });
    out.push_back({Exchange(side_, give), bytes});
  }
  for (int distance = 1; distance < paired; distance *= 2) {
    const auto bytes_of = [&, distance](int rank) {
      return of_cell * surfaces.of(rank / distance * distance, distance);
    };
    const auto meet = [&](int rank) {
      std::vector<Consignment> mine;
      if (rank < paired) mine.push_back({rank ^ distance, bytes_of(rank)});
      return mine;
    };
    const double bytes = side_.most(
        [&](int rank) { return rank < paired ? bytes_of(rank) + bytes_of(rank ^ distance) : 0; });
    out.push_back({Exchange(side_, meet), bytes});
  }
  return out;
}

// Before each exchange the stage's ranks agree that none has failed, twice.
void Analyses::swap(const Exchange& exchange) const {
  side_.reduce(sizeof(int64_t));
  side_.reduce(sizeof(int64_t));
  exchange();
}

void Analyses::halos() const {
  spend(kernels_.at("tree") * block_cells_);
  swap(asks_);
  double merged = 0;
  for (const auto& round : rounds_) {
    swap(round.exchange);
    spend(kernels_.at("merging") * round.bytes);
    merged += round.bytes;
  }
  spend(kernels_.at("finishing") * merged +
        (kernels_.at("finishing_cell") + kernels_.at("query")) * block_cells_);
  swap(gathering_);
  if (side_.rank() == 0)
    spend(mesh_cells_ * (kernels_.at("combining") * kernels_.at("shares") +
                         kernels_.at("table_row") * kernels_.at("halos")));
}

void Analyses::spectrum() const {
  transform_.forward();
  spend(kernels_.at("shells") * transform_.cells());
  constexpr int64_t tables = 8;  // five by shell, three of planes
  side_.reduce(tables * lines_ * static_cast<int64_t>(sizeof(double)));
  if (side_.rank() == 0) spend(kernels_.at("table_row") * static_cast<double>(lines_));
}

}  // namespace study

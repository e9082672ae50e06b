// SPDX-License-Identifier: BSD-3-Clause
// The stage `deposit`: puts particles on a uniform mesh, as a density that later stages of its
// chain can read. Each peer gets the particles that reach the cells whose centres lie in its part
// of the domain, and works out these cells whole, so that nothing has to be added up between peers.
// On a mesh with levels of refinement it sends the masses of cells to the peers that have the
// boxes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "../common/messages.hpp"
#include "../common/options.hpp"
#include "../common/units.hpp"
#include "cloud.hpp"
#include "levels.hpp"

namespace pillion::stages::deposit {

namespace {

constexpr double slack = 1e-9;  // a particle too many is harmless, one too few is not

class Deposit final : public stage::Stage {
 public:
  explicit Deposit(stage::Setup& setup)
      : position_(particle_field(setup, "position", 3, Numbers::real)),
        mesh_(setup.mesh(setup["mesh"].text(), setup["mesh"])),
        particles_(position_.mesh),
        grid_(mesh_.mesh),
        cloud_(static_cast<Cloud>(choice(setup["cloud"], {"ngp", "cic", "tsc"}))) {
    expect_equal_cells(mesh_, setup["mesh"], "a cloud of particles, whose shape is in cells,");
    if (mesh_.mesh_kind != PILLION_UNIFORM || mesh_.axes != 3)
      setup["mesh"].fail("mesh '" + grid_ + "' is not a uniform mesh with three axes");
    if (position_.axes == 2) setup["position"].fail(flat());
    const auto position = setup["position"].text();
    std::vector<std::string> fields{position};
    Units units;
    if (setup["mass"]) {
      const auto mass = particle_field(setup, "mass", 1, Numbers::any);
      if (std::string(mass.mesh) != particles_)
        setup["mass"].fail("fields 'position' and 'mass' are of different particles");
      fields.push_back(setup["mass"].text());
      units = Units(mass.units);
    } else {
      mass_ = setup["particle_mass"].real();
    }
    double widest = 0;
    for (int d = 0; d < 3; ++d)
      widest = std::max(widest, mesh_.length[d] / static_cast<double>(mesh_.cells[d]));
    // The shot noise of one particle in c is c times as large, in whatever is made of the density.
    setup.require_whole_publications();
    input_ = setup.input(
        stage::Input::spatial(position, reach_of(cloud_) * widest * (1 + slack), fields));
    has_masses_ = fields.size() > 1;
    declare_output(setup, (units / Units(mesh_.units).power(3)).text());
  }

  void run(stage::Step& step) override {
    check_domain(step.domain(particles_));
    if (is_refined()) return put_on_levels(step);
    const auto part = step.spatial_part(input_);
    for (size_t d = 0; d < 3; ++d) {
      const auto n = static_cast<double>(mesh_.cells[d]);
      // Cells whose centres are within.
      lo_[d] = static_cast<int64_t>(std::ceil(part.lo[d] * n - 0.5));
      hi_[d] = static_cast<int64_t>(std::ceil(part.hi[d] * n - 0.5));
    }
    switch (cloud_) {
      case Cloud::ngp: put_all<Cloud::ngp>(step); break;
      case Cloud::cic: put_all<Cloud::cic>(step); break;
      case Cloud::tsc: put_all<Cloud::tsc>(step); break;
    }
    divide_by_volume();
  }

 private:
  using Box = std::array<int64_t, 3>;

  /// Its boxes are those of the simulation.
  [[nodiscard]] bool is_refined() const { return mesh_.levels > 1 || mesh_.is_partial != 0; }
  void declare_output(const stage::Setup& setup, const std::string& units);
  void put_on_levels(const stage::Step& step) const;
  [[nodiscard]] std::vector<LevelBox> boxes_near(const stage::Step& step) const;
  template <Cloud cloud, class Put>
  void put_own(const stage::Step& step, LevelDeposit<Put>& deposit) const;
  void fill_boxes(const stage::Step& step, const std::vector<stage::Message>& masses) const;

  [[nodiscard]] std::string flat() const {
    return "mesh '" + particles_ +
           "' has two dimensions; particles are put on meshes in three only";
  }

  void check_domain(const pillion_domain& domain) const {
    if (domain.dimensions == 2) throw Error(ErrorCode::Stage, flat());
    bool same = domain.tilt[0] == 0 && domain.tilt[1] == 0 && domain.tilt[2] == 0;
    for (int d = 0; d < 3; ++d) {
      const double length = domain.hi[d] - domain.lo[d];
      same = same && std::abs(domain.lo[d] - mesh_.origin[d]) <= slack * length &&
             std::abs(length - mesh_.length[d]) <= slack * length &&
             (domain.periodic[d] != 0) == (mesh_.periodic[d] != 0);
    }
    if (!same)
      throw Error(ErrorCode::Stage, "the domain of particles '" + particles_ +
                                        "' is not the box of mesh '" + grid_ +
                                        "', or not periodic as that is");
  }

  template <Cloud cloud>
  void put_all(const stage::Step& step) {
    const int64_t cells = extent(0) * extent(1) * extent(2);
    values_ = cells > 0 ? step.produce_box<double>(output_, lo_, hi_) : nullptr;
    std::fill_n(values_, cells, 0.0);
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      block[0].visit([&](const auto* x) {
        for (int64_t i = 0; i < block.count(); ++i, x += 3)
          put<cloud>(static_cast<double>(x[0]), static_cast<double>(x[1]),
                     static_cast<double>(x[2]), mass_of(block, i));
      });
    }
  }

  [[nodiscard]] double mass_of(const stage::Block& block, int64_t i) const {
    if (!has_masses_) return mass_;
    return block[1].visit([&](const auto* mass) { return static_cast<double>(mass[i]); });
  }

  [[nodiscard]] int64_t extent(size_t d) const { return hi_[d] - lo_[d]; }

  template <Cloud cloud>
  [[nodiscard]] Cover along(int d, double x) const {
    return cover<cloud>((x - mesh_.origin[d]) / mesh_.length[d] *
                        static_cast<double>(mesh_.cells[d]));
  }

  // Copies come displaced to where this peer sees them, so a cell is never met by its image; at an
  // end that is not periodic, what would lie beyond is left where it is lost.
  template <Cloud cloud>
  void put(double px, double py, double pz, double mass) {
    const Cover x = along<cloud>(0, px), y = along<cloud>(1, py), z = along<cloud>(2, pz);
    constexpr int64_t width = width_of(cloud);
    for (int64_t k = 0; k < width; ++k) {
      const int64_t at_z = z.first + k - lo_[2];
      if (at_z < 0 || at_z >= extent(2)) continue;
      for (int64_t j = 0; j < width; ++j) {
        const int64_t at_y = y.first + j - lo_[1];
        if (at_y < 0 || at_y >= extent(1)) continue;
        const double share =
            mass * z.shares[static_cast<size_t>(k)] * y.shares[static_cast<size_t>(j)];
        double* row = values_ + (at_z * extent(1) + at_y) * extent(0);
        for (int64_t i = 0; i < width; ++i) {
          const int64_t at_x = x.first + i - lo_[0];
          if (at_x >= 0 && at_x < extent(0)) row[at_x] += share * x.shares[static_cast<size_t>(i)];
        }
      }
    }
  }

  void divide_by_volume() {
    double per_volume = 1;
    for (int d = 0; d < 3; ++d) per_volume *= static_cast<double>(mesh_.cells[d]) / mesh_.length[d];
    std::for_each_n(values_, values_ == nullptr ? 0 : extent(0) * extent(1) * extent(2),
                    [=](double& mass) { mass *= per_volume; });
  }

  pillion_field_description position_, mesh_;
  std::string particles_, grid_;
  Cloud cloud_;
  double mass_ = 1;
  bool has_masses_ = false;
  int32_t input_ = 0, boxes_ = 0, output_ = 0;
  Box lo_{}, hi_{};
  double* values_ = nullptr;  ///< the output: masses in the cells from lo_ to hi_
};

void Deposit::declare_output(const stage::Setup& setup, const std::string& units) {
  const auto like = setup["like"];
  const auto into = setup["into"].text();
  if (!is_refined()) {
    if (like) like.fail("`like` goes with meshes that have levels or missing cells");
    output_ = setup.output_of(into, grid_, PILLION_FLOAT64, 1, units);
    return;
  }
  if (!like)
    setup["mesh"].fail("mesh '" + grid_ +
                       "' has levels or missing cells; name a field on it with `like`, whose boxes "
                       "the density will have");
  if (std::string(setup.field(like.text(), like).mesh) != grid_)
    like.fail("field '" + like.text() + "' is not on mesh '" + grid_ + "'");
  boxes_ = setup.input(stage::Input::as_shared({like.text()}).with_levels());
  output_ = setup.output(into, like.text(), PILLION_FLOAT64, 1, units);
}

// A peer works on the particles in its part of the domain. It receives all boxes that their clouds
// may reach, and sends masses of cells to the peers that have these boxes.
void Deposit::put_on_levels(const stage::Step& step) const {
  const BoxFinder boxes(boxes_near(step));
  const Hierarchy hierarchy(step.mesh(grid_));
  std::map<int32_t, std::vector<CellMass>> found;
  LevelDeposit deposit(hierarchy, boxes, [&](const LevelBox& box, int64_t cell, double mass) {
    auto& of_peer = found[box.peer];
    // Particles that are neighbours in memory often are neighbours in space.
    if (!of_peer.empty() && of_peer.back().block == box.block && of_peer.back().cell == cell)
      of_peer.back().mass += mass;
    else of_peer.push_back({box.block, cell, mass});
  });
  switch (cloud_) {
    case Cloud::ngp: put_own<Cloud::ngp>(step, deposit); break;
    case Cloud::cic: put_own<Cloud::cic>(step, deposit); break;
    case Cloud::tsc: put_own<Cloud::tsc>(step, deposit); break;
  }
  fill_boxes(step, step.exchange(messages_of(found)));
}

// [peers]
std::vector<LevelBox> Deposit::boxes_near(const stage::Step& step) const {
  const auto part = step.spatial_part(input_);
  std::array<double, 6> mine{};
  for (size_t d = 0; d < 3; ++d) {
    // A cloud reaches 1.5 cells, which are widest on the coarsest level.
    const double reach = 2.0 / static_cast<double>(mesh_.cells[d]);
    mine[d] = part.lo[d] - reach;
    mine[d + 3] = part.hi[d] + reach;
  }
  const auto gathered = gather_values(step, std::vector<double>(mine.begin(), mine.end()));
  std::vector<double> parts;
  append(parts, step.broadcast(std::as_bytes(std::span(gathered))));
  const Hierarchy hierarchy(step.mesh(grid_));
  const auto reaches = [&](const LevelBox& box, const double* of_peer) {
    for (size_t d = 0; d < 3; ++d) {
      const auto n = static_cast<double>(hierarchy.cells[static_cast<size_t>(box.level)][d]);
      bool does = false;
      for (const double shift : {-1.0, 0.0, 1.0})
        if (shift == 0 || hierarchy.periodic[d])
          does = does || (static_cast<double>(box.lo[d]) / n + shift < of_peer[d + 3] &&
                          static_cast<double>(box.hi[d]) / n + shift > of_peer[d]);
      if (!does) return false;
    }
    return true;
  };
  std::map<int32_t, std::vector<LevelBox>> out;
  for (int32_t b = 0; b < step.block_count(boxes_); ++b) {
    const auto block = step.block(boxes_, b);
    LevelBox box{block.level(), step.peer(), b, 0, {}, {}};
    std::copy_n(block.lo(), 3, box.lo.begin());
    std::copy_n(block.hi(), 3, box.hi.begin());
    for (int32_t peer = 0; peer < step.peers() && block.count() > 0; ++peer)
      if (reaches(box, parts.data() + 6 * peer)) out[peer].push_back(box);
  }
  std::vector<LevelBox> in;
  for (const auto& message : step.exchange(messages_of(out))) append(in, message.bytes);
  return in;
}

template <Cloud cloud, class Put>
void Deposit::put_own(const stage::Step& step, LevelDeposit<Put>& deposit) const {
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    block[0].visit([&](const auto* x) {
      for (int64_t i = 0; i < block.owned(); ++i, x += 3) {
        std::array<double, 3> place{};
        for (size_t d = 0; d < 3; ++d)
          place[d] = (static_cast<double>(x[d]) - mesh_.origin[d]) / mesh_.length[d];
        deposit.template add<cloud>(place, mass_of(block, i));
      }
    });
  }
}

void Deposit::fill_boxes(const stage::Step& step, const std::vector<stage::Message>& masses) const {
  const Hierarchy hierarchy(step.mesh(grid_));
  std::vector<double*> values;
  std::vector<double> per_volume;
  for (int32_t b = 0; b < step.block_count(boxes_); ++b) {
    const auto block = step.block(boxes_, b);
    values.push_back(step.produce<double>(output_, boxes_, b));
    std::fill_n(values.back(), block.count(), 0.0);
    double& of_block = per_volume.emplace_back(1);
    for (size_t d = 0; d < 3; ++d)
      of_block *= static_cast<double>(hierarchy.cells[static_cast<size_t>(block.level())][d]) /
                  mesh_.length[d];
  }
  for (const auto& message : masses) {
    std::vector<CellMass> cells;
    append(cells, message.bytes);
    for (const auto& [block, cell, mass] : cells)
      values[static_cast<size_t>(block)][cell] += mass * per_volume[static_cast<size_t>(block)];
  }
}

const pillion_parameter parameters[] = {
    {"position", "field", nullptr, "Positions of the particles, whose domain is the mesh's box"},
    {"mesh", "mesh", nullptr, "Uniform mesh with three axes"},
    {"into", "name", nullptr, "Name of the density that is made"},
    {"cloud", "ngp | cic | tsc", "cic",
     "Nearest grid point, cloud in cell, or triangular-shaped cloud"},
    {"like", "field", "null",
     "On a mesh with levels or missing cells: a field of it, whose boxes the density has"},
    {"mass", "field", "null", "Masses of the particles"},
    {"particle_mass", "number", "1", "Mass of each, where there is no field of masses"},
};

}  // namespace
}  // namespace pillion::stages::deposit

PILLION_STAGE(pillion::stages::deposit::Deposit, "deposit",
              "Density of particles on a uniform mesh, as a new field",
              pillion::stages::deposit::parameters)

// SPDX-License-Identifier: BSD-3-Clause
// The stage `deposit`: puts particles on a uniform mesh, as a density that later stages of its
// chain can read. Each peer gets the particles that reach the cells whose centres lie in its part
// of the domain, and works out these cells whole, so that nothing has to be added up between peers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "../common/options.hpp"
#include "../common/units.hpp"

namespace pillion::stages::deposit {

// Shapes of particles on a mesh: which cells a particle covers along one axis, and with which share
// (R. W. Hockney, J. W. Eastwood: Computer Simulation Using Particles, 1988, section 5-3).

enum class Cloud { ngp, cic, tsc };

/// Up to three cells from `first` on, with shares that sum to 1.
struct Cover {
  int64_t first;
  std::array<double, 3> shares;
};

constexpr int width_of(Cloud cloud) { return static_cast<int>(cloud) + 1; }

/// The distance from a cell's centre, in cells, beyond which a particle leaves nothing in it.
constexpr double reach_of(Cloud cloud) { return 0.5 * width_of(cloud); }

/// At `x` in cells; the first cell is [0, 1) with its centre at 0.5.
template <Cloud cloud>
Cover cover(double x) {
  if constexpr (cloud == Cloud::ngp) {
    return {static_cast<int64_t>(std::floor(x)), {1, 0, 0}};
  } else if constexpr (cloud == Cloud::cic) {
    const double first = std::floor(x - 0.5);
    const double into = x - 0.5 - first;
    return {static_cast<int64_t>(first), {1 - into, into, 0}};
  } else {
    const double middle = std::floor(x);
    const double off = x - middle - 0.5;
    return {static_cast<int64_t>(middle) - 1,
            {0.5 * (0.5 - off) * (0.5 - off), 0.75 - off * off, 0.5 * (0.5 + off) * (0.5 + off)}};
  }
}

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
    output_ = setup.output_of(setup["into"].text(), grid_, PILLION_FLOAT64, 1,
                              (units / Units(mesh_.units).power(3)).text());
  }

  void run(stage::Step& step) override {
    check_domain(step.domain(particles_));
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
  int32_t input_ = 0, output_ = 0;
  Box lo_{}, hi_{};
  double* values_ = nullptr;  ///< the output: masses in the cells from lo_ to hi_
};

const pillion_parameter parameters[] = {
    {"position", "field", nullptr, "Positions of the particles, whose domain is the mesh's box"},
    {"mesh", "mesh", nullptr, "Uniform mesh with three axes"},
    {"into", "name", nullptr, "Name of the density that is made"},
    {"cloud", "ngp | cic | tsc", "cic",
     "Nearest grid point, cloud in cell, or triangular-shaped cloud"},
    {"mass", "field", "null", "Masses of the particles"},
    {"particle_mass", "number", "1", "Mass of each, where there is no field of masses"},
};

}  // namespace
}  // namespace pillion::stages::deposit

PILLION_STAGE(pillion::stages::deposit::Deposit, "deposit",
              "Density of particles on a uniform mesh, as a new field",
              pillion::stages::deposit::parameters)

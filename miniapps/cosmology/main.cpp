// SPDX-License-Identifier: BSD-3-Clause
// A small cosmological simulation: particles on a mesh from Zel'dovich's initial conditions, gas
// derived from them, and analyses that ride along with Pillion. What names Pillion here is all of
// it in this program. Usage: cosmology [FILE | NAME=VALUE]..., where pillion.yaml is.
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <pillion/session.hpp>

#include "gravity.hpp"
#include "initial.hpp"
#include "snapshot.hpp"

namespace cosmology {
namespace {

/// What the YAML file may call by these names.
std::map<std::string, double> values_of(const Parameters& parameters) {
  const double volume = std::pow(parameters.length / static_cast<double>(parameters.cells), 3);
  const double density = mean_density(parameters.omega_m, parameters.hubble);
  return {{"cells", static_cast<double>(parameters.cells)},
          {"length", parameters.length},
          {"omega_m", parameters.omega_m},
          {"omega_b", parameters.omega_b},
          {"hubble", parameters.hubble},
          {"tilt", parameters.tilt},
          {"sigma_8", parameters.sigma_8},
          {"baryon_fraction", parameters.omega_b / parameters.omega_m},
          {"matter_density", density},
          {"particle_mass", density * volume}};
}

pillion::Options options_of(const Parameters& parameters) {
  pillion::Options options;
  options.set("output", parameters.output);
  for (const auto& [name, value] : values_of(parameters)) options.set(name, value);
  return options;
}

std::vector<Vector> velocities(const Particles& particles, const Parameters& parameters, double a) {
  const double unit = velocity_unit(parameters, a);
  std::vector<Vector> result = particles.momentum;
  for (Vector& velocity : result)
    for (double& v : velocity) v *= unit;
  return result;
}

class Simulation {
 public:
  Simulation(const Parameters& parameters, pillion::Session& session)
      : parameters_(parameters),
        session_(session),
        background_(parameters.omega_m),
        slabs_(parameters.cells, parameters.length, session.communicator()),
        boxes_(slabs_, parameters.box),
        gravity_(slabs_, parameters.omega_m),
        particles_(initial_particles(parameters, slabs_, background_, LinearPower(parameters),
                                     scale_factor(0))) {
    const double side = parameters.length;
    session.set_domain("dark_matter", {{0, 0, 0}, {side, side, side}, {0, 0, 0}, {1, 1, 1}, 0});
    if (!parameters.snapshots.empty())
      begin_snapshots(parameters.snapshots, values_of(parameters), slabs_);
  }

  void run() {
    gravity_.accelerate(particles_);
    double seconds = 0;
    for (int64_t step = 0; step <= parameters_.steps; ++step) {
      const double start = MPI_Wtime();
      if (step > 0)
        advance(particles_, gravity_, slabs_, background_, scale_factor(step - 1),
                scale_factor(step));
      seconds += MPI_Wtime() - start;
      offer(step, scale_factor(step));
      report(step, scale_factor(step));
    }
    if (slabs_.rank == 0)
      std::printf("seconds per step: %.3f\n", seconds / static_cast<double>(parameters_.steps));
  }

 private:
  /// Steps are equal in the logarithm of the scale factor.
  [[nodiscard]] double scale_factor(int64_t step) const {
    const double first = 1 / (1 + parameters_.redshift),
                 last = 1 / (1 + parameters_.final_redshift);
    const double part = static_cast<double>(step) / static_cast<double>(parameters_.steps);
    return step == parameters_.steps ? last : first * std::pow(last / first, part);
  }

  /// The time of a step is its scale factor. Gas and velocities are derived only for
  /// snapshots and for steps at which an analysis is due.
  void offer(int64_t step, double a) {
    const bool snapshot = snapshot_due(step);
    if (step == 0 || snapshot || session_.is_due(step, a)) {
      velocity_ = velocities(particles_, parameters_, a);
      gas_ = gas_of(particles_, parameters_, slabs_, boxes_, a);
      share();
    }
    if (snapshot)
      write_snapshot(parameters_.snapshots, {step, a}, particles_, velocity_, gas_, boxes_, slabs_);
    session_.step(step, a);
  }

  void share() {
    const auto count = static_cast<int64_t>(particles_.count());
    session_.share_particles("id", particles_.id, count);
    session_.share_particles("position", first(particles_.position), count);
    session_.share_particles("velocity", first(velocity_), count);
    int32_t number = 0;
    for (const GridBox& box : boxes_.mine()) {
      const pillion::Box where({box.lo[0], box.lo[1], box.lo[2]},
                               {box.hi[0], box.hi[1], box.hi[2]});
      session_.share("gas_density", gas_.density[number], where, number);
      session_.share("gas_temperature", gas_.temperature[number], where, number);
      session_.share("gas_velocity", gas_.velocity[number], where, number);
      session_.share("n_HI", gas_.neutral[number], where, number);
      ++number;
    }
  }

  static const double* first(const std::vector<Vector>& vectors) {
    return vectors.empty() ? nullptr : vectors.front().data();
  }

  [[nodiscard]] bool snapshot_due(int64_t step) const {
    if (parameters_.snapshots.empty()) return false;
    if (parameters_.snapshot_every == 0) return step == parameters_.steps;
    return step % parameters_.snapshot_every == 0;
  }

  void report(int64_t step, double a) const {
    const Energy energy = gravity_.energy(particles_, a);
    if (slabs_.rank != 0) return;
    std::printf("step=%lld a=%.17g kinetic=%.17g potential=%.17g net_momentum=%.3g\n",
                static_cast<long long>(step), a, energy.kinetic, energy.potential,
                energy.net_momentum);
    std::fflush(stdout);
  }

  const Parameters& parameters_;
  pillion::Session& session_;
  Background background_;
  Slabs slabs_;
  Boxes boxes_;
  Gravity gravity_;
  Particles particles_;
  std::vector<Vector> velocity_;
  Gas gas_;
};

void run(const std::vector<std::string>& arguments) {
  const Parameters parameters = read_parameters(arguments);
  auto session =
      pillion::Session::open(parameters.analyses, MPI_COMM_WORLD, options_of(parameters));
  if (session.serve()) return;
  fftw_mpi_init();
  Simulation simulation(parameters, session);
  int rank = 0;
  MPI_Comm_rank(session.communicator(), &rank);
  const double start = MPI_Wtime();
  simulation.run();
  session.close();
  if (rank == 0) std::printf("seconds of all steps and analyses: %.3f\n", MPI_Wtime() - start);
}

}  // namespace
}  // namespace cosmology

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    cosmology::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cosmology: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}

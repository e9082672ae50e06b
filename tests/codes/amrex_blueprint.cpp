// SPDX-License-Identifier: BSD-3-Clause
// AMReX's own description of its data for Blueprint, passed to Catalyst: three levels of boxes with
// ghost cells, and particles in structs. Values follow from places. Fine boxes move at every step.
//   amrex_blueprint STEPS
#include <AMReX.H>
#include <AMReX_Conduit_Blueprint.H>
#include <AMReX_MultiFab.H>
#include <AMReX_ParmParse.H>
#include <AMReX_Particles.H>
#include <catalyst_api.h>

#include <conduit/conduit_cpp_to_c.hpp>
#include <cstdlib>
#include <iostream>

namespace {

using namespace amrex;
constexpr int cells = 16, levels = 3, ghosts = 2;
using Particles = ParticleContainer<1, 0, 0, 0>;

Geometry geometry_of(int level) {
  const Box domain(IntVect(0), IntVect((cells << level) - 1));
  const RealBox place({-1, 0, 2}, {1, 2, 4});
  return Geometry(domain, place, CoordSys::cartesian, {1, 1, 1});
}

/// Level l covers a cube of half the size of the level before, which moves along x.
BoxArray boxes_of(int level, int step) {
  if (level == 0) return BoxArray(geometry_of(0).Domain()).maxSize(8);
  const IntVect lo =
      (level == 1 ? IntVect(2 + 2 * step, 4, 4) * 2 : IntVect(4 + 2 * step, 6, 6) * 4);
  return BoxArray(Box(lo, lo + 15)).maxSize(8);
}

void fill(MultiFab& fab, const Geometry& geometry, int step) {
  for (MFIter at(fab); at.isValid(); ++at) {
    const auto values = fab.array(at);
    const Box inner = at.validbox();
    LoopOnCpu(at.fabbox(), [&](int i, int j, int k) {
      const auto x = geometry.CellCenter(i, 0), y = geometry.CellCenter(j, 1),
                 z = geometry.CellCenter(k, 2);
      // No stage may see a ghost cell.
      const double wrong = inner.contains(i, j, k) ? 0 : 1e30;
      values(i, j, k, 0) = x + 10 * y + 100 * z + step + wrong;
      values(i, j, k, 1) = x * x + wrong;
    });
  }
}

void run_step(int step, Particles& particles) {
  Vector<MultiFab> fabs;
  Vector<Geometry> geometries;
  for (int level = 0; level < levels; ++level) {
    const BoxArray boxes = boxes_of(level, step);
    fabs.emplace_back(boxes, DistributionMapping(boxes), 2, ghosts);
    geometries.push_back(geometry_of(level));
    fill(fabs.back(), geometries.back(), step);
  }
  Vector<const MultiFab*> all;
  for (const auto& fab : fabs) all.push_back(&fab);
  conduit::Node mesh, node;
  MultiLevelToBlueprint(levels, all, {"phi", "psi"}, geometries, 0.5 * step,
                        Vector<int>(levels, step), Vector<IntVect>(levels - 1, IntVect(2)), mesh);
  conduit::Node atoms;
  ParticleContainerToBlueprint(particles, {"mass"}, {}, atoms, "particles");
  node["catalyst/state/timestep"] = step;
  node["catalyst/state/time"] = 0.5 * step;
  node["catalyst/channels/amr/type"] = "amrmesh";
  node["catalyst/channels/amr/data"].set_external(mesh);
  node["catalyst/channels/atoms/type"] = "mesh";
  node["catalyst/channels/atoms/data"].set_external(atoms);
  if (catalyst_execute(conduit::c_node(&node)) != catalyst_status_ok)
    std::cout << "catalyst_execute failed\n";
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1;
  Initialize(argc, argv, false);
  {
    conduit::Node start, end;
    start["catalyst/mpi_comm"] = MPI_Comm_c2f(ParallelDescriptor::Communicator());
    if (catalyst_initialize(conduit::c_node(&start)) != catalyst_status_ok)
      std::cout << "catalyst_initialize failed\n";
    const BoxArray boxes = boxes_of(0, 0);
    Particles particles(geometry_of(0), DistributionMapping(boxes), boxes);
    particles.InitNRandomPerCell(2, {3.5});
    for (int step = 0; step < steps; ++step) run_step(step, particles);
    catalyst_finalize(conduit::c_node(&end));
  }
  Finalize();
  return 0;
}

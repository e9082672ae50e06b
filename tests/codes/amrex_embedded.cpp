// SPDX-License-Identifier: BSD-3-Clause
// A sphere cut out of a box by AMReX's embedded boundaries, on two levels: the density is 1 + x in
// the open part, and not a number in cells that the sphere covers. `amrex_embedded inputs`.
#include <AMReX.H>
#include <AMReX_EB2.H>
#include <AMReX_EB2_IF_Sphere.H>
#include <AMReX_EBFabFactory.H>
#include <AMReX_MultiFab.H>
#include <AMReX_ParmParse.H>

#include <cstdio>
#include <limits>
#include <memory>
#include <pillion/amrex.hpp>

namespace {

using namespace amrex;

/// Level 1 has the cells of the middle of the box, around the sphere.
Vector<BoxArray> boxes_of(const Vector<Geometry>& geometry) {
  BoxArray coarse(geometry[0].Domain());
  coarse.maxSize(8);
  BoxArray fine(Box(IntVect(8), IntVect(23)));
  fine.maxSize(8);
  return {coarse, fine};
}

void run(pillion::Session& session) {
  const Box cells(IntVect(0), IntVect(15));
  const RealBox space({0, 0, 0}, {1, 1, 1});
  Vector<Geometry> geometry{Geometry(cells, space, 0, {0, 0, 0})};
  geometry.push_back(refine(geometry[0], 2));
  const EB2::SphereIF sphere(0.2, {0.5, 0.5, 0.5}, false);
  EB2::Build(EB2::makeShop(sphere), geometry[1], 1, 1);
  const auto boxes = boxes_of(geometry);

  // [weight]
  pillion::amrex::Catalogue catalogue;
  catalogue.mesh("grid", geometry[0], {IntVect(2)}, {"m", "volume_fraction", ""});
  catalogue.fields("grid", {"density", "volume_fraction"});
  // [weight]
  pillion::amrex::set_parameters(session);
  session.offer_catalogue(catalogue.text());
  session.configure();

  Vector<std::unique_ptr<EBFArrayBoxFactory>> factories;
  Vector<MultiFab> density;
  for (int level = 0; level < 2; ++level) {
    const DistributionMapping owners(boxes[level]);
    factories.push_back(
        makeEBFabFactory(geometry[level], boxes[level], owners, {2, 2, 2}, EBSupport::volume));
    density.emplace_back(boxes[level], owners, 1, 1, MFInfo(), *factories.back());
    const auto& fraction = factories.back()->getVolFrac();
    for (MFIter box(density.back()); box.isValid(); ++box) {
      const auto at = density.back().array(box);
      const auto open = fraction.const_array(box);
      LoopOnCpu(box.validbox(), [&](int i, int j, int k) {
        const double x = (i + 0.5) * geometry[level].CellSize(0);
        at(i, j, k) = open(i, j, k) > 0 ? 1 + x : std::numeric_limits<double>::quiet_NaN();
      });
    }
  }
  // [fractions]
  Vector<const MultiFab*> fractions;
  for (const auto& factory : factories) fractions.push_back(&factory->getVolFrac());
  pillion::amrex::share(session, {"volume_fraction"}, fractions, geometry);
  pillion::amrex::share(session, {"density"}, GetVecOfConstPtrs(density), geometry);
  // [fractions]
  session.step(0, 0);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    auto session = pillion::amrex::open(argc, argv, MPI_COMM_WORLD);
    if (!session.serve()) {
      Initialize(argc, argv, true, session.communicator());
      run(session);
      session.close();
      Finalize();
    }
  } catch (const pillion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}

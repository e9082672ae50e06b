// SPDX-License-Identifier: BSD-3-Clause
// AMReX writes a plotfile of two levels: write_plotfiles out=PATH fmt=F ver=V. The values of cell
// (i, j, k) on level l are i + 100 j + 10000 k + l / 4, and -i / 2 - j + k.
#include <AMReX.H>
#include <AMReX_MultiFab.H>
#include <AMReX_ParmParse.H>
#include <AMReX_PlotFileUtil.H>
#include <AMReX_VisMF.H>

#include <string>

namespace {

using namespace amrex;

void fill(MultiFab& values, int level) {
  for (MFIter box(values); box.isValid(); ++box) {
    const auto at = values.array(box);
    ParallelFor(box.fabbox(), [=](int i, int j, int k) {
      at(i, j, k, 0) = i + 100 * j + 10000 * k + 0.25 * level;
      at(i, j, k, 1) = -0.5 * i - j + k;
    });
  }
}

void write() {
  ParmParse words;
  int format = 0, version = 1;
  std::string path;
  words.get("out", path);
  words.query("fmt", format);
  words.query("ver", version);
  if (format == 1) FArrayBox::setFormat(FABio::FAB_NATIVE_32);
  if (format == 2) FArrayBox::setFormat(FABio::FAB_IEEE_32);
  VisMF::SetHeaderVersion(static_cast<VisMF::Header::Version>(version));

  const Box coarse({0, 0, 0}, {15, 15, 15});
  const RealBox space({-1, 0, 2}, {1, 2, 4});
  const Vector<Geometry> geometry{Geometry(coarse, space, 0, {1, 1, 1}),
                                  Geometry(refine(coarse, 2), space, 0, {1, 1, 1})};
  BoxArray whole(coarse);
  whole.maxSize(8);
  const BoxArray fine(
      BoxList(Vector<Box>{Box({8, 8, 8}, {15, 23, 15}), Box({16, 8, 8}, {23, 23, 23})}));
  Vector<MultiFab> values(2);
  values[0].define(whole, DistributionMapping(whole), 2, 1);
  values[1].define(fine, DistributionMapping(fine), 2, 1);
  for (int level = 0; level < 2; ++level) fill(values[level], level);
  WriteMultiLevelPlotfile(path, 2, GetVecOfConstPtrs(values), {"phi", "psi"}, geometry, 3.5,
                          {42, 42}, {IntVect(2)});
}

}  // namespace

int main(int argc, char** argv) {
  Initialize(argc, argv);
  write();
  Finalize();
}

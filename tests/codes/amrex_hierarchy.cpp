// SPDX-License-Identifier: BSD-3-Clause
// A program over AMReX as its users write them: an AmrCore of up to three levels that follows a
// blob and regrids, particles with structures and arrays beside them, and plotfiles written by
// AMReX at the steps that Pillion analyses. Ghost cells are not numbers, so that a result shows if
// one is read. `amrex_hierarchy inputs` prints how often it computed the derived field.
#include <AMReX.H>
#include <AMReX_AmrCore.H>
#include <AMReX_AmrParticles.H>
#include <AMReX_ParmParse.H>
#include <AMReX_PlotFileUtil.H>
#include <AMReX_TagBox.H>
#include <AMReX_Utility.H>

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <pillion/amrex.hpp>
#include <string>

namespace {

using namespace amrex;
using pillion::amrex::share;
using pillion::amrex::share_vector;

/// Structures: mass, velocity; an integer. Arrays beside them: a real, and one more added at run
/// time.
using Tracers = AmrParticleContainer<4, 1, 1, 0>;

class Hierarchy : public AmrCore {
 public:
  Hierarchy() { ParmParse("blob").query("width", width_); }

  void start() {
    state_.resize(static_cast<size_t>(max_level) + 1);
    kind_.resize(static_cast<size_t>(max_level) + 1);
    InitFromScratch(0);
    tracers_ = std::make_unique<Tracers>(this);
    tracers_->AddRealComp(true);
    add_tracers();
  }

  /// Moves the blob and the particles, and regrids.
  void advance(double to) {
    time_ = to;
    regrid(0, time_);
    for (int level = 0; level <= finest_level; ++level) fill(level);
    for (int level = 0; level <= tracers_->finestLevel(); ++level)
      for (ParIter<4, 1, 1, 0> tile(*tracers_, level); tile.isValid(); ++tile)
        for (auto& p : tile.GetArrayOfStructs())
          for (int d = 0; d < 3; ++d) p.pos(d) += 0.05 * p.rdata(1 + d);
    tracers_->Redistribute();
  }

  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] Vector<const MultiFab*> state() const { return pointers(state_); }
  [[nodiscard]] Vector<const iMultiFab*> kind() const { return pointers(kind_); }
  [[nodiscard]] const Tracers& tracers() const { return *tracers_; }

  /// 2 density + 1 on every level, without ghost cells.
  [[nodiscard]] Vector<MultiFab> derive() const {
    Vector<MultiFab> out;
    for (int level = 0; level <= finest_level; ++level) {
      const auto& from = *state_[static_cast<size_t>(level)];
      out.emplace_back(from.boxArray(), from.DistributionMap(), 1, 0);
      MultiFab::Copy(out.back(), from, 0, 0, 1, 0);
      out.back().mult(2);
      out.back().plus(1, 0);
    }
    return out;
  }

  void write(int step) const {
    const auto path = Concatenate("plt", step, 5);
    WriteMultiLevelPlotfile(path, finest_level + 1, state(), {"density", "flow_x", "flow_y"},
                            Geom(), time_, Vector<int>(finest_level + 1, step), refRatio());
    tracers_->WritePlotFile(path, "tracers");
  }

 private:
  template <class T>
  [[nodiscard]] Vector<const T*> pointers(const std::vector<std::unique_ptr<T>>& levels) const {
    Vector<const T*> out;
    for (int level = 0; level <= finest_level; ++level)
      out.push_back(levels[static_cast<size_t>(level)].get());
    return out;
  }

  [[nodiscard]] double density(double x, double y, double z) const {
    const double cx = 0.5 + 0.25 * std::cos(time_), cy = 0.5 + 0.25 * std::sin(time_);
    const double r2 = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - 0.5) * (z - 0.5);
    return 1 + 9 * std::exp(-r2 / (width_ * width_));
  }

  void fill(int level) {
    auto& state = *state_[static_cast<size_t>(level)];
    state.setVal(std::numeric_limits<double>::quiet_NaN());
    kind_[static_cast<size_t>(level)]->setVal(-1);
    const auto lo = Geom(level).ProbLoArray();
    const auto dx = Geom(level).CellSizeArray();
    for (MFIter box(state); box.isValid(); ++box) {
      const auto at = state.array(box);
      const auto kind = kind_[static_cast<size_t>(level)]->array(box);
      LoopOnCpu(box.validbox(), [&](int i, int j, int k) {
        const double x = lo[0] + (i + 0.5) * dx[0], y = lo[1] + (j + 0.5) * dx[1],
                     z = lo[2] + (k + 0.5) * dx[2];
        at(i, j, k, 0) = density(x, y, z);
        at(i, j, k, 1) = -y * x + time_;
        at(i, j, k, 2) = x + level;
        kind(i, j, k) = (i + 2 * j + 3 * k) % 7;
      });
    }
  }

  void add_tracers() {
    auto& tracers = *tracers_;
    const auto lo = Geom(0).ProbLoArray();
    const auto dx = Geom(0).CellSizeArray();
    for (MFIter box = tracers.MakeMFIter(0); box.isValid(); ++box) {
      auto& tile = tracers.DefineAndReturnParticleTile(0, box.index(), box.LocalTileIndex());
      LoopOnCpu(box.tilebox(), [&](int i, int j, int k) {
        Tracers::ParticleType p;
        p.id() = Tracers::ParticleType::NextID();
        p.cpu() = ParallelDescriptor::MyProc();
        p.pos(0) = lo[0] + (i + 0.25) * dx[0];
        p.pos(1) = lo[1] + (j + 0.5) * dx[1];
        p.pos(2) = lo[2] + (k + 0.75) * dx[2];
        p.rdata(0) = 1 + i;
        p.rdata(1) = 1;
        p.rdata(2) = 0.5 * (j % 3);
        p.rdata(3) = -0.25 * (k % 5);
        p.idata(0) = i + 100 * j + 10000 * k;
        tile.push_back(p);
        tile.push_back_real(0, 300 + j);
        tile.push_back_real(1, -k);
      });
    }
    tracers.Redistribute();
  }

  void define(int level, const BoxArray& boxes, const DistributionMapping& owners) {
    state_[static_cast<size_t>(level)] = std::make_unique<MultiFab>(boxes, owners, 3, 2);
    kind_[static_cast<size_t>(level)] = std::make_unique<iMultiFab>(boxes, owners, 1, 1);
    fill(level);
  }
  void MakeNewLevelFromScratch(int level, Real, const BoxArray& boxes,
                               const DistributionMapping& owners) override {
    define(level, boxes, owners);
  }
  void MakeNewLevelFromCoarse(int level, Real, const BoxArray& boxes,
                              const DistributionMapping& owners) override {
    define(level, boxes, owners);
  }
  void RemakeLevel(int level, Real, const BoxArray& boxes,
                   const DistributionMapping& owners) override {
    define(level, boxes, owners);
  }
  void ClearLevel(int level) override {
    state_[static_cast<size_t>(level)].reset();
    kind_[static_cast<size_t>(level)].reset();
  }
  void ErrorEst(int level, TagBoxArray& tags, Real, int) override {
    const double above = level == 0 ? 3 : 6;
    const auto& state = *state_[static_cast<size_t>(level)];
    for (MFIter box(state); box.isValid(); ++box) {
      const auto at = state.const_array(box);
      const auto tag = tags.array(box);
      LoopOnCpu(box.validbox(), [&](int i, int j, int k) {
        if (at(i, j, k, 0) > above) tag(i, j, k) = TagBox::SET;
      });
    }
  }

  double time_ = 0, width_ = 0.15;
  std::vector<std::unique_ptr<MultiFab>> state_;
  std::vector<std::unique_ptr<iMultiFab>> kind_;
  std::unique_ptr<Tracers> tracers_;
};

/// What analyses may use: the components of the state by name, all of them as one field, an
/// integer, a field that is derived, a vector of two of these, and the particles.
std::string catalogue_of(const Hierarchy& hierarchy,
                         const pillion::amrex::ParticleFields& particles) {
  // [catalogue]
  pillion::amrex::Catalogue catalogue;
  catalogue.mesh("grid", hierarchy.Geom(0), hierarchy.refRatio(), {"m", "", ""});
  catalogue.fields("grid", {"density", "flow_x", "flow_y", "double_density"});
  catalogue.field<int>("grid", "kind").field("grid", "all", "", 3);
  catalogue.vector("flow", {"flow_x", "flow_y"}, "m/s").scalar("levels");
  particles.declare(catalogue, "m");
  // [catalogue]
  return catalogue.text();
}

/// Arrays that cannot be shared are refused with a sentence.
void run_misuse(pillion::Session& session) {
  const Box cells({0, 0, 0}, {7, 7, 7});
  const Geometry geometry(cells, RealBox({0, 0, 0}, {1, 1, 1}), 0, {0, 0, 0});
  const BoxArray boxes(cells);
  const DistributionMapping owners(boxes);
  pillion::amrex::Catalogue catalogue;
  catalogue.mesh("grid", geometry).field("grid", "density");
  session.offer_catalogue(catalogue.text());
  session.configure();
  const auto report = [](auto&& call) {
    try {
      call();
    } catch (const pillion::Error& error) {
      Print() << error.what() << "\n";
    }
  };
  report([&] {
    share(session, {"density"}, MultiFab(convert(boxes, IntVect(1)), owners, 1, 0), geometry);
  });
  report([&] { share(session, {"density"}, MultiFab(boxes, owners, 1, 0), geometry, 1); });
  report([&] {
    pillion::amrex::Catalogue().mesh("ball", Geometry(cells, RealBox({0, 0, 0}, {1, 1, 1}), 2, {}));
  });
  struct Device : Arena {
    void* alloc(size_t bytes) override { return std::malloc(bytes); }
    void free(void* memory) override { std::free(memory); }
    [[nodiscard]] bool isHostAccessible() const override { return false; }
  };
  Device device;
  report([&] {
    const MultiFab there(boxes, owners, 1, 0, MFInfo().SetArena(&device));
    share(session, {"density"}, there, geometry);
  });
}

/// Whether a test has ended the run by a file of that name; the same on every rank.
bool is_ended(const std::string& name) {
  int found = ParallelDescriptor::IOProcessor() && !name.empty() && FileExists(name) ? 1 : 0;
  ParallelDescriptor::Bcast(&found, 1, ParallelDescriptor::IOProcessorNumber());
  return found != 0;
}

void run(pillion::Session& session) {
  int steps = 6, plot = 1, derived = 0;
  bool is_misuse = false;
  ParmParse inputs;
  inputs.query("misuse", is_misuse);
  if (is_misuse) return run_misuse(session);
  inputs.query("steps", steps);
  inputs.query("plot", plot);
  std::string until;
  inputs.query("until", until);
  Hierarchy hierarchy;
  hierarchy.start();

  // [particles]
  pillion::amrex::ParticleFields tracers("tracers");
  tracers.real("mass", {0}, "kg").real("tracer_velocity", {1, 2, 3}, "m/s");
  tracers.real("warmth", {4}).real("depth", {5}).integer("origin", {0});
  // [particles]
  // [offer]
  pillion::amrex::set_parameters(session);
  session.offer_catalogue(catalogue_of(hierarchy, tracers));
  session.configure();
  // [offer]

  for (int step = 0; step < steps && !is_ended(until); ++step) {
    if (step > 0) hierarchy.advance(0.5 * step);
    const double time = hierarchy.time();
    // [share]
    Vector<MultiFab> derivation;
    if (step == 0 || session.is_due(step, time)) {  // the first step checks that all is shared
      const auto& geometry = hierarchy.Geom();
      share(session, {"density", "flow_x", "flow_y"}, hierarchy.state(), geometry);
      share_vector(session, "all", 3, hierarchy.state(), geometry);
      share(session, {"kind"}, hierarchy.kind(), geometry);
      if (session.uses("double_density")) {
        derivation = hierarchy.derive();
        share(session, {"double_density"}, GetVecOfConstPtrs(derivation), geometry);
        ++derived;
      }
      tracers.share(session, hierarchy.tracers());
      session.set_scalar("levels", hierarchy.finestLevel() + 1);
    }
    session.step(step, time);
    pillion::amrex::unshare(session, {"double_density"});  // its memory ends here
    // [share]
    if (plot > 0) hierarchy.write(step);
  }
  Print() << "derived " << derived << " times\n";
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  // [main]
  MPI_Init(&argc, &argv);
  try {
    auto session = pillion::amrex::open(argc, argv, MPI_COMM_WORLD);  // pillion.file = FILE
    if (!session.serve()) {  // sidecars work until the simulation closes its session
      Initialize(argc, argv, true, session.communicator());
      run(session);
      session.close();
      Finalize();
    }
  } catch (const pillion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (Initialized()) Finalize();
    status = 1;
  }
  // [main]
  MPI_Finalize();
  return status;
}

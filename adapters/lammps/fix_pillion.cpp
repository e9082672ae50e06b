// SPDX-License-Identifier: BSD-3-Clause
// What the fix does at each of LAMMPS's calls. A call of Pillion that fails alike on every rank
// ends LAMMPS in order (error->all); one that fails on this rank alone must not wait for the others
// (error->one).
#include "fix_pillion.hpp"

#include <cstdio>
#include <cstring>
#include <exception>

#include "catalogue.hpp"
#include "check.hpp"

namespace pillion::lammps {

namespace {

pillion_domain domain_of(const LAMMPS_NS::Domain& box) {
  pillion_domain domain{};
  for (int d = 0; d < 3; ++d) {
    domain.lo[d] = box.boxlo[d];
    domain.hi[d] = box.boxhi[d];
    domain.periodic[d] = box.periodicity[d];
  }
  if (box.triclinic != 0) {
    domain.tilt[0] = box.xy;
    domain.tilt[1] = box.xz;
    domain.tilt[2] = box.yz;
  }
  return domain;
}

}  // namespace

/// LAMMPS writes errors to its screen and its log; who turned the screen off is told all the same.
void FixPillion::fail(const std::string& message) {
  if (comm->me == 0 && screen == nullptr) std::fprintf(stderr, "ERROR: %s\n", message.c_str());
  error->all(FLERR, message);
}

template <class F>
void FixPillion::alike(F&& body) {
  std::string problem;
  try {
    body();
    return;
  } catch (const std::exception& e) {
    problem = e.what();
  }
  fail(problem);
}

template <class F>
void FixPillion::alone(F&& body) {
  std::string problem;
  try {
    body();
    return;
  } catch (const std::exception& e) {
    problem = e.what();
  }
  error->one(FLERR, problem);
}

FixPillion::FixPillion(LAMMPS_NS::LAMMPS* lmp, int argc, char** argv) : Fix(lmp, argc, argv) {
  alike([&] { options_ = read_fix_options({argv + 3, argv + argc}); });
  progress_ = ProgressLine(comm->me == 0 ? options_.progress : 0);
  nevery = options_.every;
  restart_file = options_.checkpoint ? 1 : 0;
  vector_flag = 1;
  size_vector = 4;
  global_freq = 1;
  extvector = 0;
  dynamic_group_allow = 1;
  if (atom->tag_enable == 0) fail("fix pillion needs atom ids");
  open();
  alike([&] { set_units(ride_->session(), units_of(update->unit_style)); });
}

void FixPillion::open() {
  ride_ = Ride::of_process();
  if (ride_ != nullptr && !options_.ride.file.empty())
    fail(
        "fix pillion: the session is open already; say `pillion-lmp -pillion FILE`, not `config "
        "FILE`");
  if (ride_ == nullptr && options_.ride.file.empty())
    fail("fix pillion needs the keyword config and a YAML file");
  if (ride_ == nullptr) {
    options_.ride.role = PILLION_ROLE_SIMULATION;
    alike([&] {
      own_ = std::make_unique<Ride>(options_.ride, options_.universe ? MPI_COMM_WORLD : world);
    });
    ride_ = own_.get();
  }
  int size = 0;
  MPI_Comm_size(ride_->communicator(), &size);
  if (size != comm->nprocs)
    fail("fix pillion: LAMMPS has " + std::to_string(comm->nprocs) +
         " ranks here and the session " + std::to_string(size) +
         " simulation ranks; partitions are not supported");
}

FixPillion::~FixPillion() {
  // LAMMPS may have deleted parts of itself by now; `comm` and `error` go last.
  pillion_session* session = ride_ == nullptr ? nullptr : ride_->session();
  if (session == nullptr) return;
  try {
    atoms_.unshare(session);
    if (own_ == nullptr) return;
    own_->close();
    if (comm->me == 0) LAMMPS_NS::utils::logmesg(lmp, "Pillion report: " + own_->report() + "\n");
  } catch (const std::exception& problem) {
    error->warning(FLERR, std::string(problem.what()));
  }
}

int FixPillion::setmask() { return LAMMPS_NS::FixConst::END_OF_STEP; }

void FixPillion::init() {
  int count = 0;
  for (int i = 0; i < modify->nfix; ++i)
    if (std::strcmp(modify->fix[i]->style, style) == 0) ++count;
  if (count > 1) fail("only one fix pillion may be defined at a time");
}

void FixPillion::share() {
  const pillion_domain domain = domain_of(*this->domain);
  check(pillion_set_domain(ride_->session(), mesh_name, &domain));
  atoms_.share(ride_->session(), *atom, groupbit);
}

void FixPillion::ready() {
  alone([&] { share(); });
  alike([&] { check(pillion_ready(ride_->session())); });
  ready_ = true;
}

void FixPillion::setup(int) {
  if (!ready_) ready();
  if (update->ntimestep % nevery == 0) offer();
}

void FixPillion::end_of_step() { offer(); }

double FixPillion::time() const {
  return update->atime + static_cast<double>(update->ntimestep - update->atimestep) * update->dt;
}

/// A run command begins with the step that ended the one before; that is not offered again. Neither
/// is, by the session, the step at which a restart file was written.
void FixPillion::offer() {
  const auto step = update->ntimestep;
  if (step == offered_) return;
  alone([&] {
    int32_t due = 0;
    check(pillion_is_due(ride_->session(), step, time(), &due));
    // Only steps that are due read what is shared, so nothing else needs it up to date.
    if (due != 0) share();
    check(pillion_step(ride_->session(), step, time()));
    offered_ = step;
    progress_.update(ride_->session(), update->laststep);
  });
}

void FixPillion::post_run() {
  alone([&] { progress_.finish(ride_->session(), update->laststep); });
}

void FixPillion::write_restart_file(const char* file) {
  alike([&] {
    check(pillion_checkpoint(ride_->session(), (std::string(file) + ".pillion").c_str()));
  });
}

double FixPillion::compute_vector(int index) {
  pillion_progress progress{};
  alone([&] { check(pillion_get_progress(ride_->session(), &progress)); });
  const double values[] = {static_cast<double>(progress.publications),
                           static_cast<double>(progress.skipped),
                           static_cast<double>(progress.behind), progress.stall_seconds};
  return values[index];
}

LAMMPS_NS::Fix* create_fix(LAMMPS_NS::LAMMPS* lmp, int argc, char** argv) {
  return new FixPillion(lmp, argc, argv);
}

}  // namespace pillion::lammps

// SPDX-License-Identifier: BSD-3-Clause
// What the fix does at each of LAMMPS's calls. Until the first step a failure is a mistake in the
// input or the configuration, and ends LAMMPS on every rank (error->all). From then on no failure
// ends it, nor one of a fix that is defined again: the fix warns, and LAMMPS continues without the
// analyses.
#include "fix_pillion.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "catalogue.hpp"
#include "ride.hpp"

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
  domain.dimensions = box.dimension;
  return domain;
}

/// All fields of atoms, and none, as the KOKKOS package names them in its own headers, which come
/// only with that package.
constexpr unsigned int every_field = 0xffffffff;
constexpr unsigned int no_field = 0;

constexpr int minimising = 2;  ///< a value of Update::whichflag

/// LAMMPS of 2022 copies atoms from the device when it is asked. That of 2025 does so before it
/// calls a fix, if the fix reads them.
template <class Atom>
constexpr bool copies_when_asked = requires(Atom& atom) {
  atom.sync_modify(LAMMPS_NS::Host, every_field, no_field);
};
template <class Atom>
void copy_from_device(Atom& atom) {
  if constexpr (copies_when_asked<Atom>) atom.sync_modify(LAMMPS_NS::Host, every_field, no_field);
}

}  // namespace

/// LAMMPS writes errors to its screen and its log. If the screen is off, they go to standard error.
/// Returns only after the first step, with the fix off. All ranks call it.
void FixPillion::fail(const std::string& message) {
  if (has_stepped_) return turn_off(message);
  if (comm->me == 0 && screen == nullptr) std::fprintf(stderr, "ERROR: %s\n", message.c_str());
  error->all(FLERR, message);
}

void FixPillion::turn_off(const std::string& reason) {
  off_ = true;
  if (comm->me == 0) warn("fix pillion is off, and LAMMPS continues without it: " + reason);
}

void FixPillion::warn(const std::string& message) {
  if (screen == nullptr) std::fprintf(stderr, "WARNING: %s\n", message.c_str());
  error->warning(FLERR, message);
}

/// For what must succeed before the first step, and else turns the fix off. It may fail on one rank
/// alone. [collective]
template <class F>
void FixPillion::require(F&& body) {
  std::string problem;
  try {
    body();
  } catch (const std::exception& e) {
    problem = e.what();
  }
  const int mine = problem.empty() ? comm->nprocs : comm->me;
  int first = mine;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, world);
  if (first == comm->nprocs) return;
  // LAMMPS shows what rank 0 says.
  std::array<char, 1024> text{};
  problem.copy(text.data(), text.size() - 1);
  MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, world);
  fail(text.data());
}

/// For what may fail from then on, which is reported once.
template <class F>
void FixPillion::attempt(F&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    if (!std::exchange(off_, true))
      warn(std::string("fix pillion is off, and LAMMPS continues without it: ") + e.what());
  }
}

FixPillion::FixPillion(LAMMPS_NS::LAMMPS* lmp, int argc, char** argv) : Fix(lmp, argc, argv) {
  require([&] { options_ = read_fix_options({argv + 3, argv + argc}); });
  nevery = options_.every;
  if (!off_) define();
}

void FixPillion::define() {
  progress_ = ProgressLine(comm->me == 0 ? options_.progress : 0);
  restart_file = options_.checkpoint ? 1 : 0;
  vector_flag = 1;
  size_vector = 4;
  global_freq = 1;
  extvector = 0;
  dynamic_group_allow = 1;
  // LAMMPS with KOKKOS would else copy all atoms from the device before, and back after, every
  // step.
  datamask_modify = no_field;
  datamask_read = copies_when_asked<LAMMPS_NS::Atom> ? no_field : every_field;
  if (atom->tag_enable == 0) fail("fix pillion needs atom ids");
  if (!off_) open();
  if (!off_) require([&] { set_units(ride_->session(), units_of(update->unit_style)); });
}

void FixPillion::open() {
  ride_ = Ride::of_process();
  // A file that `pillion run` names counts more than the input's in any case.
  const bool is_overridden = std::getenv("PILLION_CONFIGURATION") != nullptr;
  if (ride_ != nullptr && !options_.ride.file.empty() && !is_overridden)
    return fail(
        "fix pillion: the session is open already; say `pillion-lmp -pillion FILE`, not `config "
        "FILE`");
  if (ride_ == nullptr && options_.ride.file.empty())
    return fail(
        "fix pillion has no YAML file: run `pillion-lmp -pillion FILE -in INPUT`, or say `config "
        "FILE` after the fix");
  if (ride_ == nullptr) {
    options_.ride.role = PILLION_ROLE_SIMULATION;
    require([&] {
      own_ = std::make_unique<Ride>(options_.ride, options_.universe ? MPI_COMM_WORLD : world);
    });
    ride_ = own_.get();
  }
  if (ride_ == nullptr) return;
  int size = 0;
  MPI_Comm_size(ride_->communicator(), &size);
  if (size != comm->nprocs)
    fail("fix pillion: LAMMPS has " + std::to_string(comm->nprocs) +
         " ranks here and the session " + std::to_string(size) +
         " simulation ranks; with partitions use `pillion-lmp -pillion FILE -partition …`, or "
         "`comm world` with another `output` for each");
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
  const bool is_in_use = has_stepped_ && ready_;
  if (count > 1 && !is_in_use) fail("only one fix pillion may be defined at a time");
  if (off_ || ride_ == nullptr || ride_->session() == nullptr) return;
  if (!copies_when_asked<LAMMPS_NS::Atom>) datamask_read = every_field;
  require([&] { values_.find(ride_->session(), *lmp, nevery); });
  if (!off_ && values_.any()) values_.announce(*lmp, update->ntimestep);
}

void FixPillion::share_atoms() {
  const pillion_domain domain = domain_of(*this->domain);
  auto* session = ride_->session();
  for (const char* mesh : {mesh_name, bonds_name})
    check(pillion_set_domain(session, mesh, &domain));
  if (!copies_when_asked<LAMMPS_NS::Atom> && lmp->kokkos != nullptr && datamask_read == no_field)
    throw std::runtime_error("step " + std::to_string(update->ntimestep) +
                             " became due when the step length changed, and its atoms are still on "
                             "the device; give 'every' in steps");
  copy_from_device(*atom);
  atoms_.share(session, *atom, groupbit);
  if (uses(session, "bond") || uses(session, "bond_type"))
    atoms_.share_bonds(session, *atom, force->newton_bond != 0);
}

/// Computes of LAMMPS send messages, so all ranks ask for them, or none does if one has failed.
void FixPillion::share() {
  std::string problem;
  if (!off_) try {
      share_atoms();
    } catch (const std::exception& e) {
      problem = e.what();
    }
  if (values_.any()) {
    int failed = off_ || !problem.empty() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, world);
    if (failed != 0 && problem.empty()) problem = "it has failed on a rank";
  }
  if (!problem.empty()) throw std::runtime_error(problem);
  const std::string missing = values_.share(ride_->session(), *lmp, atoms_, igroup);
  if (!missing.empty() && comm->me == 0 && !std::exchange(has_warned_, true))
    warn("fix pillion: " + missing);
}

/// So that LAMMPS adds up energies and virials at the next step, and copies atoms from the device,
/// if it will be due.
void FixPillion::announce_next() {
  constexpr bool is_copied_before = !copies_when_asked<LAMMPS_NS::Atom>;
  if (off_ || (!values_.any() && !is_copied_before)) return;
  const auto next = update->ntimestep + nevery;
  int32_t due = 0;
  check(pillion_is_due(ride_->session(), next, time() + nevery * update->dt, &due));
  const bool is_needed = due != 0 || update->whichflag == minimising;
  if (is_copied_before) datamask_read = is_needed ? every_field : no_field;
  if (due != 0 && values_.any()) values_.announce(*lmp, next);
}

void FixPillion::ready() {
  require([&] { share(); });
  if (!off_) require([&] { check(pillion_ready(ride_->session())); });
  if (!off_) attempt([&] { continue_time(); });
  ready_ = true;
}

/// Restart files of LAMMPS of 2022 have no time, and LAMMPS then counts it from 0. Steps of a
/// session that resumes continue the time of its checkpoint.
void FixPillion::continue_time() {
  if (ride_->added_time) return;
  ride_->added_time = 0;
  pillion_progress saved{};
  check(pillion_get_progress(ride_->session(), &saved));
  if (saved.step == update->ntimestep && saved.time > time())
    ride_->added_time = saved.time - time();
}

void FixPillion::setup(int) {
  if (!ready_ && !off_) ready();
  if (update->ntimestep % nevery == 0) offer();
}

// Positions within an iteration are those of a line search, so the states before and after a
// minimisation are offered. LAMMPS adds up energies and virials at its last step.
void FixPillion::min_setup(int) {
  setup(0);
  if (values_.any()) values_.announce(*lmp, update->laststep);
}

void FixPillion::end_of_step() { offer(); }

double FixPillion::time() const {
  return ride_->added_time.value_or(0) + update->atime +
         static_cast<double>(update->ntimestep - update->atimestep) * update->dt;
}

/// A run command begins with the step that ended the one before; that is not offered again. Neither
/// is, by the session, the step at which a restart file was written.
void FixPillion::offer() {
  const auto step = update->ntimestep;
  if (step == offered_ || ride_ == nullptr) return;
  offered_ = step;
  has_stepped_ = true;
  auto* session = ride_->session();
  attempt([&] {
    int32_t due = 0;
    check(pillion_is_due(session, step, time(), &due));
    // Only steps that are due read what is shared, so nothing else needs it up to date.
    if (due != 0 && (!off_ || values_.any())) share();
  });
  // LAMMPS may have moved what was shared before.
  if (off_) attempt([&] { atoms_.unshare(session); });
  // Also when the fix is off: the failure may be this rank's alone, and the others wait for it.
  attempt([&] { check(pillion_step(session, step, time())); });
  attempt([&] { announce_next(); });
  attempt([&] { progress_.update(session, update->laststep); });
}

void FixPillion::post_run() {
  if (ride_ == nullptr) return;
  if (update->whichflag == minimising && update->ntimestep % nevery == 0) {
    if (values_.any()) values_.announce(*lmp, update->ntimestep);
    offer();
  }
  attempt([&] { progress_.finish(ride_->session(), update->laststep); });
}

void FixPillion::write_restart_file(const char* file) {
  if (ride_ == nullptr) return;
  const std::string path = std::string(file) + ".pillion";
  if (pillion_checkpoint(ride_->session(), path.c_str()) == PILLION_OK || comm->me != 0) return;
  warn("fix pillion could not write " + path + ": " + pillion_error_message());
}

double FixPillion::compute_vector(int index) {
  pillion_progress progress{};
  if (ride_ != nullptr) attempt([&] { check(pillion_get_progress(ride_->session(), &progress)); });
  const double values[] = {static_cast<double>(progress.publications),
                           static_cast<double>(progress.skipped),
                           static_cast<double>(progress.behind), progress.stall_seconds};
  return values[index];
}

LAMMPS_NS::Fix* create_fix(LAMMPS_NS::LAMMPS* lmp, int argc, char** argv) {
  return new FixPillion(lmp, argc, argv);
}

}  // namespace pillion::lammps

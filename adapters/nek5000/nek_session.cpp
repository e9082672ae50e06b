// SPDX-License-Identifier: BSD-3-Clause
// What happens at each of Nek's calls: the functions that nek_pillion.f, compiled with the case,
// reaches. Nek is one program in one process, so there is one session. Until the first step a
// failure is a mistake in the configuration, found alike on every rank: it ends the program. From
// then on no failure of Pillion ends Nek.
#include <mpi.h>
#include <pillion/pillion.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "catalogue.hpp"
#include "inputs.hpp"

namespace pillion::nek5000 {

namespace {

constexpr const char* configuration = "pillion.yaml";
constexpr const char* checkpoint_ending = ".pillion";  ///< behind the name of a field file

pillion_session* session = nullptr;
bool is_configured = false;
std::map<std::string, const double*> added;  // fields of the case's own, by name
int elements_added = -1;                     // how many these have; -1 before they are shared
int rank = 0;                                ///< in Nek's communicator

void say(std::FILE* where, const char* what, const char* text) {
  if (rank != 0) return;
  std::fprintf(where, "pillion: %s%s\n", what, text);
  std::fflush(where);
}

// Ends the program where every rank has the same failure, so that none waits for another. The
// session has reported it.
void require(pillion_status status) {
  if (status == PILLION_OK) return;
  pillion_close(std::exchange(session, nullptr));
  MPI_Finalize();
  std::exit(EXIT_FAILURE);
}

void warn(pillion_status status) {
  if (status != PILLION_OK) say(stderr, "WARNING: ", pillion_error_message());
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether the run is to be analysed, as rank 0 finds in the folder where the program was started.
bool is_wanted(MPI_Comm comm) {
  const char* elsewhere = std::getenv("PILLION_CONFIGURATION");
  int wanted = (elsewhere != nullptr && *elsewhere != '\0') || access(configuration, F_OK) == 0;
  if (rank == 0 && wanted != 0 && are_coupled(text_of("SESSION.NAME"))) {
    say(stderr, "WARNING: ",
        "SESSION.NAME couples several cases (neknek), which the adapter does not analyse; they run "
        "without Pillion");
    wanted = 0;
  }
  MPI_Bcast(&wanted, 1, MPI_INT, 0, comm);
  return wanted != 0;
}

// The checkpoint beside the field file from which Nek starts, if there is one and the configuration
// names none; the same on every rank.
std::string checkpoint_to_resume(MPI_Comm comm) {
  std::string path;
  if (rank == 0 && !names_restart(text_of(configuration))) {
    const auto session = text_of("SESSION.NAME");
    const auto folder = case_folder(session);
    const auto file = start_file(text_of(folder + "/" + case_name(session) + ".par"));
    path = file.empty() || file.front() == '/' ? file : folder + "/" + file;
    if (!path.empty()) path += checkpoint_ending;
    if (path.empty() || access(path.c_str(), F_OK) != 0) path.clear();
  }
  auto size = static_cast<int>(path.size());
  MPI_Bcast(&size, 1, MPI_INT, 0, comm);
  path.resize(static_cast<size_t>(size));
  MPI_Bcast(path.data(), size, MPI_CHAR, 0, comm);
  return path;
}

// Nek reads its inputs with the communicator of the simulation ranks; only then is the catalogue
// known. So the session opens in two phases.
void open(MPI_Comm comm) {
  pillion_options* raw = nullptr;
  require(pillion_options_create(&raw));
  const std::unique_ptr<pillion_options, void (*)(pillion_options*)> options(raw,
                                                                             &pillion_options_free);
  require(pillion_options_set_deferred(raw));
  const auto checkpoint = checkpoint_to_resume(comm);
  if (!checkpoint.empty()) {
    require(pillion_options_set_restart(raw, checkpoint.c_str()));
    say(stdout, "resumes from ", checkpoint.c_str());
  }
  require(pillion_open_with(configuration, comm, raw, &session));
}

}  // namespace

extern "C" {

void pillion_nek_share_added(int elements);

/// Opens the session if there is a configuration. A sidecar rank serves, and never returns.
/// `simulation` becomes the communicator for Nek.
void pillion_nek_open(const MPI_Fint* comm, MPI_Fint* simulation) {
  int is_running = 0;
  MPI_Initialized(&is_running);
  if (is_running == 0) MPI_Init(nullptr, nullptr);
  const MPI_Comm world = MPI_Comm_f2c(*comm);
  MPI_Comm_rank(world, &rank);
  *simulation = *comm;
  if (!is_wanted(world)) return;
  open(world);
  if (pillion_serve(session) != 0) {
    MPI_Finalize();
    std::exit(EXIT_SUCCESS);
  }
  *simulation = pillion_communicator_fortran(session);
  MPI_Comm_rank(pillion_communicator(session), &rank);
}

int pillion_nek_is_open() { return session != nullptr ? 1 : 0; }

/// Completes the opening, once Nek has read its inputs. `on_thermal` has an entry for the
/// temperature and for each of `scalars`.
void pillion_nek_begin_case(int order, int dimensions, int flow, int axis, int magnetic, int solid,
                            int moving, int temperature, int scalars, const int* on_thermal) {
  Case of;
  of.order = order;
  of.dimensions = dimensions;
  of.has_flow = flow != 0;
  of.is_axisymmetric = axis != 0;
  of.has_magnetic_field = magnetic != 0;
  of.has_solid = solid != 0;
  of.is_moving = moving != 0;
  of.has_temperature = temperature != 0;
  of.is_on_thermal.assign(on_thermal, on_thermal + scalars + 1);
  for (const auto& [name, values] : added) of.added.push_back(name);
  require(pillion_offer_catalogue(session, catalogue_text(of).c_str()));
  require(pillion_configure(session));
  is_configured = true;
}

/// Shares the first `elements` of a field's arrays, one for each component.
void pillion_nek_share(const char* field, int elements, int components, const double* x,
                       const double* y, const double* z) {
  const std::array<const void*, 3> data = {x, y, z};
  pillion_arrays arrays{};
  arrays.size = sizeof arrays;
  arrays.data = data.data();
  arrays.type = PILLION_FLOAT64;
  arrays.components = components;
  warn(pillion_share_components(session, field, 0, elements, &arrays));
}

void pillion_nek_share_numbers(const char* field, int elements, const int32_t* numbers) {
  warn(pillion_share_elements_typed(session, field, 0, elements, numbers, PILLION_INT32));
}

/// Adds a field of the case's own, or says where its values are from now on.
void pillion_nek_add_field(const char* field, const double* values) {
  if (session == nullptr) return;
  const auto at = added.find(field);
  if (is_configured && at == added.end()) {
    say(stderr,
        "WARNING: a field comes too late; add it in usrdat3, or in userchk at istep 0: ", field);
    return;
  }
  if (at == added.end() || at->second == values) {
    added.emplace(field, values);
    return;
  }
  at->second = values;
  if (elements_added >= 0) pillion_nek_share_added(elements_added);
}

void pillion_nek_share_added(int elements) {
  elements_added = elements;
  for (const auto& [name, values] : added)
    pillion_nek_share(name.c_str(), elements, 1, values, values, values);
}

/// Before the first step every step may be.
int pillion_nek_is_due(int step, double time) {
  if (session == nullptr) return 0;
  if (!is_configured) return 1;
  int32_t due = 0;
  warn(pillion_is_due(session, step, time, &due));
  return due;
}

void pillion_nek_step(int step, double time, double dt) {
  static bool is_first = true;
  warn(pillion_set_scalar(session, "dt", dt));
  const auto status = pillion_step(session, step, time);
  if (std::exchange(is_first, false)) require(status);
  else warn(status);
}

/// Saves the analyses beside a field file, unless the user does not want it.
void pillion_nek_checkpoint(const char* file) {
  const char* wanted = std::getenv("PILLION_NEK_CHECKPOINT");
  if (wanted != nullptr && std::string(wanted) == "no") return;
  warn(pillion_checkpoint(session, (file + std::string(checkpoint_ending)).c_str()));
}

void pillion_nek_close() {
  if (session == nullptr) return;
  const std::string report = pillion_report_path(session);
  const auto status = pillion_close(std::exchange(session, nullptr));
  warn(status);
  if (status == PILLION_OK) say(stdout, "report: ", report.c_str());
}

}  // extern "C"

}  // namespace pillion::nek5000

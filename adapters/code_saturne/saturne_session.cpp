// SPDX-License-Identifier: BSD-3-Clause
// What happens at each of code_saturne's calls: the functions that cs_pillion.c, compiled with the
// case, reaches. code_saturne is one program in one process, so there is one session. Until the
// first step a failure is a mistake in the configuration, found alike on every rank: it ends the
// program. From then on no failure of Pillion ends code_saturne.
#include <mpi.h>
#include <pillion/pillion.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "catalogue.hpp"
#include "cells.hpp"
#include "pillion_saturne.h"

namespace pillion::code_saturne {

namespace {

constexpr const char* configuration = "pillion.yaml";
// In code_saturne's own folders, so that they go where these go.
constexpr const char* checkpoint_folder = "checkpoint";
constexpr const char* checkpoint_to_write = "checkpoint/pillion";
constexpr const char* checkpoint_to_resume = "restart/pillion";
// Holds where products are, as seen from code_saturne's folder: each run has a folder of its own,
// and a resumed one continues the products of the run before.
constexpr const char* place_of_products = "pillion.products";

/// A field of the catalogue, and what was shared of it last.
struct Shared {
  std::string name;  ///< in Pillion
  std::string mesh;
  bool is_at_points = false;
  const double* values = nullptr;
  int64_t count = -1;
};

/// A mesh that is shared, and how many values a field has on it.
struct SharedMesh {
  int64_t cells = 0, points = 0;
  std::vector<int32_t> points_used;  ///< of all points of the rank; empty if all are
  std::vector<int32_t> patches;      ///< of cells, where the mesh has patches
};

pillion_session* session = nullptr;
Case of_run;
std::map<std::pair<std::string, bool>, Shared> fields;  // by name in code_saturne, and previous
std::map<std::string, SharedMesh> meshes;
int rank = 0;  ///< in code_saturne's communicator
/// With other programs in this job, which know nothing of failures here.
bool is_coupled = false;

void say(std::FILE* where, const char* what, const char* text) {
  if (rank != 0) return;
  std::fprintf(where, "pillion: %s%s\n", what, text);
  std::fflush(where);
}

// Ends MPI as code_saturne does at its end: all ranks of the job meet, those of sidecars too.
[[noreturn]] void end(int status) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::exit(status);
}

// Ends the program where every rank has the same failure, so that none waits for another. The
// session has logged it.
void require(pillion_status status) {
  if (status == PILLION_OK) return;
  pillion_close(std::exchange(session, nullptr));
  if (is_coupled) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  end(EXIT_FAILURE);
}

void warn(pillion_status status) {
  if (status != PILLION_OK) say(stderr, "WARNING: ", pillion_error_message());
}

// Of a call that this rank may have failed in alone.
void warn_of_this_rank(pillion_status status) {
  if (status != PILLION_OK)
    std::fprintf(stderr, "pillion: WARNING: rank %d: %s\n", rank, pillion_error_message());
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool saves_checkpoints() {
  return !is_set("PILLION_SATURNE_CHECKPOINT") ||
         std::string(std::getenv("PILLION_SATURNE_CHECKPOINT")) != "no";
}

int size_of(MPI_Comm comm) {
  int size = 1;
  if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &size);
  return size;
}

/// What rank 0 finds in the folder where the program was started, for all ranks alike.
struct Files {
  int has_configuration = 0, has_checkpoint = 0;
  std::string products;  ///< of the run to resume; "" if they are not where they were
};

/// The folder of products that a checkpoint names, if it is there.
std::string products_of_earlier_run() {
  std::error_code fault;
  const auto folder = std::filesystem::canonical("restart", fault);
  std::string path;
  if (fault || !std::getline(std::ifstream(folder / place_of_products), path)) return "";
  const auto products = (folder / path).lexically_normal();
  return std::filesystem::is_directory(products, fault) ? products.string() : "";
}

/// Beside a checkpoint, for the function above. Without the file products begin in a new folder.
void note_products() {
  const auto report = std::filesystem::path(pillion_report_path(session));
  if (rank != 0 || report.empty()) return;
  std::error_code fault;
  const auto products = std::filesystem::weakly_canonical(report.parent_path(), fault);
  const auto folder = std::filesystem::canonical(checkpoint_folder, fault);
  const auto place = folder / place_of_products, aside = folder / ".pillion.products.part";
  const bool is_written = static_cast<bool>(
      std::ofstream(aside) << products.lexically_relative(folder).string() << std::endl);
  if (is_written) std::filesystem::rename(aside, place, fault);
}

Files find_files(MPI_Comm comm) {
  int found[3] = {is_set("PILLION_CONFIGURATION") || access(configuration, F_OK) == 0,
                  saves_checkpoints() && access(checkpoint_to_resume, F_OK) == 0, 0};
  Files out;
  if (rank == 0 && found[1] != 0) out.products = products_of_earlier_run();
  found[2] = static_cast<int>(out.products.size());
  if (comm != MPI_COMM_NULL) MPI_Bcast(found, 3, MPI_INT, 0, comm);
  out.has_configuration = found[0];
  out.has_checkpoint = found[1];
  out.products.resize(static_cast<size_t>(found[2]));
  if (comm != MPI_COMM_NULL) MPI_Bcast(out.products.data(), found[2], MPI_CHAR, 0, comm);
  return out;
}

/// Opened in two phases, because code_saturne reads its inputs with the communicator.
void open(MPI_Comm comm, const Files& files) {
  pillion_options* raw = nullptr;
  require(pillion_options_create(&raw));
  const std::unique_ptr<pillion_options, void (*)(pillion_options*)> options(raw,
                                                                             &pillion_options_free);
  require(pillion_options_set_deferred(raw));
  if (files.has_checkpoint != 0) {
    // code_saturne removes the link to the checkpoint at its end.
    std::error_code fault;
    const auto checkpoint = std::filesystem::canonical(checkpoint_to_resume, fault);
    const std::string path = fault ? checkpoint_to_resume : checkpoint.string();
    require(pillion_options_set_restart(raw, path.c_str()));
    if (!files.products.empty())
      require(pillion_options_override(raw, "output", quoted(files.products).c_str()));
    say(stdout, "resumes from ", path.c_str());
    if (!files.products.empty()) say(stdout, "continues the results in ", files.products.c_str());
  }
  require(pillion_open_with(configuration, comm, raw, &session));
}

/// Sidecars take part in nothing that coupled programs do together.
void refuse_sidecars_of_coupled_programs(MPI_Comm comm) {
  int is_sidecar = pillion_communicator(session) == MPI_COMM_NULL ? 1 : 0;
  int some = 0;
  MPI_Allreduce(&is_sidecar, &some, 1, MPI_INT, MPI_MAX, comm);
  if (some == 0) return;
  say(stderr, "",
      "code_saturne is coupled with other programs in this job, which sidecars in the job cannot "
      "take part in; use `sidecars: {job: separate}`, or leave `sidecars` out");
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/// That some analysis needs.
std::vector<pillion_field> used_fields() {
  std::vector<pillion_field> out;
  int32_t count = 0;
  warn_of_this_rank(pillion_count_fields(session, &count));
  for (int32_t n = 0; n < count; ++n) {
    pillion_field field{};
    if (pillion_get_field(session, n, &field) == PILLION_OK && field.used != 0)
      out.push_back(field);
  }
  return out;
}

void share_points(const char* name, const pillion_saturne_mesh& mesh,
                  const std::vector<int32_t>& used) {
  pillion_points points{};
  points.size = sizeof points;
  points.type = PILLION_FLOAT64;
  points.count = used.empty() ? mesh.points : static_cast<int64_t>(used.size());
  std::vector<double> coordinates;
  std::vector<int64_t> ids;
  for (const int32_t point : used) {
    coordinates.insert(coordinates.end(), mesh.coordinates + 3 * static_cast<size_t>(point),
                       mesh.coordinates + 3 * static_cast<size_t>(point) + 3);
    ids.push_back(number_of(mesh.point_numbers, point));
  }
  for (int32_t p = 0; used.empty() && p < mesh.points; ++p)
    ids.push_back(number_of(mesh.point_numbers, p));
  points.data[0] = used.empty() ? mesh.coordinates : coordinates.data();
  points.ids = ids.data();
  warn_of_this_rank(pillion_share_points(session, name, 0, &points));
}

void share_cells(const char* name, CellTable table, const pillion_saturne_mesh& mesh) {
  auto& shared = meshes[name];
  shared = {static_cast<int64_t>(table.types.size()), mesh.points, std::move(table.points_used),
            table.patches};
  share_points(name, mesh, shared.points_used);
  pillion_cells cells = table.view().raw(name);
  cells.size = sizeof cells;
  warn_of_this_rank(pillion_share_cells(session, name, 0, &cells));
}

/// Whether the zones of the boundary have not changed since they were shared. They may depend on
/// time.
bool has_zones_of(const SharedMesh& boundary, const pillion_saturne_mesh& mesh) {
  return std::equal(boundary.patches.begin(), boundary.patches.end(), mesh.zones,
                    mesh.zones + mesh.boundary_faces);
}

/// Those that analyses use, unless they have been shared.
void share_meshes(const pillion_saturne_mesh& mesh, bool moves) {
  for (const auto& [name, shared] : meshes)
    if (moves) share_points(name.c_str(), mesh, shared.points_used);
  for (const auto& field : used_fields()) {
    const std::string name = field.mesh;
    if (meshes.count(name) != 0) continue;
    share_cells(name.c_str(),
                name == "fluid"      ? volume_cells(mesh)
                : name == "boundary" ? boundary_faces(mesh)
                                     : interior_faces(mesh),
                mesh);
  }
}

}  // namespace

extern "C" {

MPI_Comm pillion_saturne_open(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_rank(comm, &rank);
  const Files files = find_files(comm);
  if (files.has_configuration == 0) return comm;
  int is_running = 0;
  MPI_Initialized(&is_running);
  if (is_running == 0) MPI_Init(nullptr, nullptr);  // ended by code_saturne, which asks MPI
  const MPI_Comm all = comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm;
  is_coupled = size_of(all) < size_of(MPI_COMM_WORLD);
  open(all, files);
  if (is_coupled) refuse_sidecars_of_coupled_programs(all);
  if (pillion_serve(session) != 0) end(EXIT_SUCCESS);
  const MPI_Comm simulation = pillion_communicator(session);
  MPI_Comm_rank(simulation, &rank);
  if (comm == MPI_COMM_NULL) return MPI_COMM_WORLD;
  if (size_of(simulation) == size_of(all)) return comm;
  MPI_Comm own = MPI_COMM_NULL;  // code_saturne works on when the session is closed, and frees it
  MPI_Comm_dup(simulation, &own);
  return own;
}

int pillion_saturne_is_open(void) { return session != nullptr ? 1 : 0; }

void pillion_saturne_add_zone(const char* name) { of_run.zones.emplace_back(name); }

void pillion_saturne_add_field(const char* name, int32_t location, int32_t components,
                               int32_t is_previous) {
  if (mesh_of(location) != nullptr)
    of_run.fields.push_back({name, location, components, is_previous != 0});
}

void pillion_saturne_set_constant(const char* name) {
  for (auto& field : of_run.fields)
    if (field.name == name) field.is_constant = true;
}

void pillion_saturne_set_celsius(void) { of_run.is_celsius = true; }

void pillion_saturne_configure(void) {
  const auto names = names_of(of_run.fields);
  for (size_t f = 0; f < names.size(); ++f) {
    const auto& field = of_run.fields[f];
    fields[{field.name, field.is_previous}] = {names[f], mesh_of(field.location),
                                               field.location == PILLION_SATURNE_VERTICES};
  }
  require(pillion_offer_catalogue(session, catalogue_text(of_run).c_str()));
  require(pillion_configure(session));
}

int pillion_saturne_is_due(int64_t step, double time) {
  if (session == nullptr) return 0;
  if (meshes.empty()) return 1;
  int32_t due = 0;
  warn_of_this_rank(pillion_is_due(session, step, time, &due));
  return due;
}

int pillion_saturne_is_used(const char* name) {
  const auto all = used_fields();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& field) { return std::string(field.name) == name; })
             ? 1
             : 0;
}

void pillion_saturne_share_mesh(const pillion_saturne_mesh* mesh, int moves, int changes) {
  try {
    if (changes != 0) meshes.clear();
    const auto boundary = meshes.find("boundary");
    if (boundary != meshes.end() && !has_zones_of(boundary->second, *mesh)) meshes.erase(boundary);
    share_meshes(*mesh, moves != 0);
  } catch (const std::exception& error) {  // too little memory
    std::fprintf(stderr, "pillion: WARNING: rank %d: %s\n", rank, error.what());
  }
}

void pillion_saturne_share(const char* name, int32_t is_previous, const double* values) {
  const auto at = fields.find({name, is_previous != 0});
  if (at == fields.end()) return;
  auto& field = at->second;
  const auto mesh = meshes.find(field.mesh);
  if (mesh == meshes.end()) return;
  const int64_t count = field.is_at_points ? mesh->second.points : mesh->second.cells;
  if (field.values == values && field.count == count) return;
  field.values = values;
  field.count = count;
  warn_of_this_rank(
      pillion_share_values_typed(session, field.name.c_str(), 0, count, values, PILLION_FLOAT64));
}

void pillion_saturne_step(int64_t step, double time, double dt) {
  static bool is_first = true;
  warn(pillion_set_scalar(session, "dt", dt));
  const auto status = pillion_step(session, step, time);
  if (std::exchange(is_first, false)) require(status);
  else warn(status);
}

void pillion_saturne_checkpoint(void) {
  if (session == nullptr || !saves_checkpoints()) return;
  const auto status = pillion_checkpoint(session, checkpoint_to_write);
  warn(status);
  if (status == PILLION_OK) note_products();
}

void pillion_saturne_close(void) {
  if (session == nullptr) return;
  const std::string report = pillion_report_path(session);
  const auto status = pillion_close(std::exchange(session, nullptr));
  warn(status);
  // A run that only reads its mesh has no step, and no report.
  if (status == PILLION_OK && !report.empty()) say(stdout, "report: ", report.c_str());
}

}  // extern "C"

}  // namespace pillion::code_saturne

// SPDX-License-Identifier: BSD-3-Clause
// The C interface, but for sharing. Each function is wrapped whole, so that no exception and no
// unreported failure gets out.
#include <deque>
#include <mutex>
#include <string>

#include "capi/handle.hpp"
#include "comm/agreement.hpp"

struct pillion_options {
  pillion::session::Options options;
};

using pillion::Error;
using pillion::ErrorCode;
using pillion::base::DefaultEnvironment;
using pillion::base::guard;
using pillion::base::Level;
using pillion::base::Log;
using pillion::capi::contained;
using pillion::capi::given;
using pillion::capi::opened;
using pillion::capi::side;
using pillion::capi::text;
using pillion::model::MeshKind;
using pillion::session::Options;
using pillion::topology::Role;

namespace {

/// A handle, which lives as long as the process. Tools that look for leaks can reach it.
pillion_session* new_handle() {
  static std::mutex mutex;
  static auto& handles = *new std::deque<pillion_session>;
  const std::lock_guard lock(mutex);
  return &handles.emplace_back();
}

void open_session(const char* file, MPI_Comm comm, const pillion_options* options,
                  pillion_session** session) {
  given(session, "session") = nullptr;
  pillion::comm::expect_usable(comm);
  // All that takes memory comes after this, for the ranks can agree on a failure only then.
  pillion::comm::Communicator world(comm);
  std::unique_ptr<pillion::capi::OpenSession> open;
  pillion_session* handle = nullptr;
  std::string name;
  Options own;
  pillion::comm::together(world, [&] {
    open = std::make_unique<pillion::capi::OpenSession>();
    handle = new_handle();
    if (file != nullptr) name = file;
    if (options != nullptr) own = options->options;
  });
  open->session.open(name, std::move(world), own);
  handle->is_sidecar = open->session.is_sidecar();
  handle->open = std::move(open);
  *session = handle;
}

pillion_field described(pillion::simulation::Simulation& side, int32_t number) {
  const auto& catalogue = side.data().catalogue();
  const auto names = catalogue.field_names();
  if (number < 0 || static_cast<size_t>(number) >= names.size())
    pillion::base::fail(ErrorCode::Argument,
                        "there is no field number {}, counted from 0; the catalogue has {}", number,
                        names.size());
  const auto& field = catalogue.field(names[static_cast<size_t>(number)]);
  const auto& mesh = catalogue.mesh(field.mesh);
  const bool boxes = pillion::model::has_boxes(mesh.kind);
  pillion_field out{};
  out.name = field.name.c_str();
  out.mesh = mesh.name.c_str();
  out.mesh_kind = static_cast<pillion_mesh_kind>(mesh.kind);
  out.type = static_cast<pillion_type>(field.type);
  out.components = field.components;
  const bool is_flat = mesh.kind == MeshKind::Spectral && mesh.axes == 2;
  out.axes = boxes || is_flat ? mesh.axes : 0;
  for (size_t a = 0; a < 3; ++a) out.cells[a] = boxes ? mesh.cells[a] : 0;
  out.order = std::max(pillion::model::points_along(mesh, field) - 1, 0);
  out.used = side.uses(field.name) ? 1 : 0;
  out.levels = mesh.levels();
  out.is_partial = mesh.is_partial ? 1 : 0;
  out.centering = static_cast<pillion_centering>(pillion::model::centering_of(mesh, field));
  out.point_axes = static_cast<int32_t>(pillion::model::point_axes_of(mesh, field));
  out.is_constant = field.is_constant ? 1 : 0;
  out.units = field.units.c_str();
  return out;
}

}  // namespace

extern "C" {

const char* pillion_error_message(void) { return pillion::base::last_error(); }

const char* pillion_version(void) { return PILLION_VERSION; }

int32_t pillion_is_enabled(void) { return PILLION_ENABLED; }

pillion_status pillion_options_create(pillion_options** options) {
  return contained([&] { given(options, "options") = new pillion_options; });
}

void pillion_options_free(pillion_options* options) { delete options; }

pillion_status pillion_options_set(pillion_options* options, const char* name, const char* value) {
  return contained([&] {
    given(options, "options").options.parameters[text(name, "the name")] = text(value, "the value");
  });
}

pillion_status pillion_options_set_role(pillion_options* options, pillion_role role) {
  return contained([&] {
    if (role < PILLION_ROLE_ANY || role > PILLION_ROLE_SIDECAR)
      pillion::base::fail(ErrorCode::Argument, "role {} is not known", role);
    given(options, "options").options.role = static_cast<Role>(role);
  });
}

pillion_status pillion_options_set_catalogue(pillion_options* options, const char* yaml) {
  return contained(
      [&] { given(options, "options").options.catalogue = text(yaml, "the catalogue"); });
}

pillion_status pillion_options_override(pillion_options* options, const char* key,
                                        const char* value) {
  return contained([&] {
    given(options, "options").options.overrides[text(key, "the key")] = text(value, "the value");
  });
}

pillion_status pillion_options_set_restart(pillion_options* options, const char* path) {
  return contained([&] { given(options, "options").options.restart = text(path, "the path"); });
}

pillion_status pillion_options_set_log(pillion_options* options, pillion_log_handler handler,
                                       void* context) {
  return contained([&] {
    given(options, "options").options.log =
        handler == nullptr ? Log(Log::Handler())
                           : Log([=](Level level, const std::string& message) {
                               handler(context, static_cast<int32_t>(level), message.c_str());
                             });
  });
}

pillion_status pillion_options_set_deferred(pillion_options* options) {
  return contained([&] { given(options, "options").options.deferred = true; });
}

pillion_status pillion_open_with(const char* file, MPI_Comm comm, const pillion_options* options,
                                 pillion_session** session) {
  return contained([&] { open_session(file, comm, options, session); });
}

pillion_status pillion_open(const char* file, MPI_Comm comm, pillion_session** session) {
  return pillion_open_with(file, comm, nullptr, session);
}

pillion_status pillion_open_fortran(const char* file, MPI_Fint comm, pillion_session** session) {
  return pillion_open_with_fortran(file, comm, nullptr, session);
}

pillion_status pillion_open_with_fortran(const char* file, MPI_Fint comm,
                                         const pillion_options* options,
                                         pillion_session** session) {
  return contained([&] {
    given(session, "session") = nullptr;
    pillion::comm::expect_mpi();
    open_session(file, pillion::comm::from_fortran(comm), options, session);
  });
}

pillion_status pillion_set_parameter(pillion_session* session, const char* name,
                                     const char* value) {
  return contained(
      [&] { opened(session).set_parameter(text(name, "the name"), text(value, "the value")); });
}

pillion_status pillion_offer_catalogue(pillion_session* session, const char* yaml) {
  return contained([&] { opened(session).offer_catalogue(text(yaml, "the catalogue")); });
}

pillion_status pillion_configure(pillion_session* session) {
  return contained([&] { opened(session).ensure_configured(); });
}

int32_t pillion_serve(pillion_session* session) {
  if (session == nullptr) return 0;
  if (!session->is_sidecar) return 0;
  if (!session->open || session->open->ended) return 1;
  const DefaultEnvironment environment;
  auto& mine = session->open->session;
  const auto status = guard([&] { mine.serve(); });
  if (status != 0)
    guard([&] { mine.log().failure("a sidecar ended early: {}", pillion_error_message()); });
  session->end();
  return 1;
}

MPI_Comm pillion_communicator(const pillion_session* session) {
  const bool open = session != nullptr && session->open && !session->open->ended;
  return open ? session->open->session.communicator() : MPI_COMM_NULL;
}

MPI_Fint pillion_communicator_fortran(const pillion_session* session) {
  MPI_Fint handle = -1;  // for callers that ask while MPI is not running
  contained([&] {
    pillion::comm::expect_mpi();
    handle = pillion::comm::to_fortran(pillion_communicator(session));
  });
  return handle;
}

pillion_status pillion_count_fields(const pillion_session* session, int32_t* count) {
  return contained([&] {
    given(count, "count") =
        static_cast<int32_t>(side(session).data().catalogue().field_names().size());
  });
}

pillion_status pillion_get_field(const pillion_session* session, int32_t number,
                                 pillion_field* field) {
  return contained([&] { given(field, "field") = described(side(session), number); });
}

pillion_status pillion_count_scalars(const pillion_session* session, int32_t* count) {
  return contained([&] {
    given(count, "count") = static_cast<int32_t>(side(session).data().catalogue().scalars().size());
  });
}

pillion_status pillion_get_scalar_name(const pillion_session* session, int32_t number,
                                       const char** name) {
  return contained([&] {
    const auto& scalars = side(session).data().catalogue().scalars();
    if (number < 0 || static_cast<size_t>(number) >= scalars.size())
      pillion::base::fail(ErrorCode::Argument,
                          "there is no scalar number {}, counted from 0; the catalogue has {}",
                          number, scalars.size());
    given(name, "name") = scalars[static_cast<size_t>(number)].name.c_str();
  });
}

pillion_status pillion_set_domain(pillion_session* session, const char* mesh,
                                  const pillion_domain* domain) {
  return contained([&] {
    side(session).data().sharing().set_domain(text(mesh, "the mesh"), given(domain, "the domain"));
  });
}

pillion_status pillion_set_coordinates(pillion_session* session, const char* mesh, int32_t axis,
                                       int64_t count, const double* values) {
  return contained([&] {
    if (count > 0) given(values, "the coordinates");
    side(session).data().sharing().set_coordinates(text(mesh, "the mesh"), axis, count, values);
  });
}

pillion_status pillion_set_units(pillion_session* session, const char* name, const char* units) {
  return contained([&] {
    if (!side(session).set_units(text(name, "the name"), text(units, "the units")))
      pillion::base::fail(ErrorCode::Argument,
                          "'{}' is not a field, a mesh, a scalar or 'time', so it has no units",
                          name);
  });
}

pillion_status pillion_set_scalar(pillion_session* session, const char* name, double value) {
  return guard([&] { side(session).set_scalar(text(name, "the name"), value); });
}

pillion_status pillion_ready(pillion_session* session) {
  return contained([&] {
    opened(session).ensure_configured();
    side(session).ready();
  });
}

pillion_status pillion_is_due(const pillion_session* session, int64_t step, double time,
                              int32_t* due) {
  return guard([&] { given(due, "due") = side(session).is_due(step, time) ? 1 : 0; });
}

pillion_status pillion_step(pillion_session* session, int64_t step, double time) {
  return guard([&] {
    auto& open = opened(session);
    open.ensure_configured();
    open.simulation().step(step, time);
  });
}

pillion_status pillion_checkpoint(pillion_session* session, const char* path) {
  return contained([&] { side(session).checkpoint(path); });
}

pillion_status pillion_get_progress(const pillion_session* session, pillion_progress* progress) {
  return guard([&] {
    const auto now = side(session).progress();
    given(progress, "progress") = {now.step,    now.time,   now.steps_per_second, now.publications,
                                   now.skipped, now.behind, now.stall_seconds,    now.disabled};
  });
}

const char* pillion_report_path(const pillion_session* session) {
  return session == nullptr || !session->open ? "" : session->open->session.report_path().c_str();
}

pillion_status pillion_close(pillion_session* session) {
  if (session == nullptr) return PILLION_OK;
  // MPI_Finalize has closed it; what it has of MPI cannot be freed any more. And a child of the
  // process that opened it has only a copy: the other ranks wait for the parent.
  if (session->open && (session->open->ended || !session->open->is_of_this_process()))
    return PILLION_OK;
  const DefaultEnvironment environment;
  bool is_open = false;
  const auto status = guard([&] {
    try {
      opened(session).close();
    } catch (const pillion::simulation::Late&) {
      is_open = true;
      throw;
    }
  });
  if (!is_open) session->end();
  return status;
}

}  // extern "C"

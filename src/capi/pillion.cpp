// SPDX-License-Identifier: BSD-3-Clause
// The C interface. Each function is wrapped whole, so that no exception and no unreported failure
// gets out.
#include <pillion/pillion.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "session/session.hpp"
#include "simulation/simulation.hpp"

struct pillion_options {
  pillion::session::Options options;
};

using pillion::Error;
using pillion::ErrorCode;
using pillion::base::guard;
using pillion::base::Level;
using pillion::base::Log;
using pillion::model::MeshKind;
using pillion::session::Options;
using pillion::session::Session;
using pillion::topology::Role;

namespace pillion::capi {

// A simulation that ends without closing its session would leave its sidecars waiting for ever, so
// the session closes itself when MPI is finalised.
struct OpenSession {
  Session session;
  bool ended = false;  ///< by MPI_Finalize
  pillion::comm::AtFinalize forgotten{[this] { close_forgotten(); }};

  void close_forgotten() {
    ended = true;
    if (session.is_sidecar()) return;
    const auto status = guard([&] { session.close(); });
    session.log().warn("the session was not closed before MPI_Finalize{}{}",
                       status != 0 ? ": " : "", status != 0 ? pillion_error_message() : "");
  }
};

}  // namespace pillion::capi

// What a handle points at stays when the session has closed, so that a call with a closed handle is
// an error and not a crash. It is a few bytes per session.
struct pillion_session {
  std::unique_ptr<pillion::capi::OpenSession> open;
  bool is_sidecar = false;
};

struct pillion_kept {
  std::shared_ptr<const void> memory;
};

namespace {

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) pillion::base::fail(ErrorCode::Argument, "{} is NULL", what);
  return *pointer;
}

const char* text(const char* pointer, const char* what) {
  given(pointer, what);
  return pointer;
}

/// The session of a handle; throws ErrorCode::State if it has closed.
Session& opened(const pillion_session* session) {
  const auto& open = given(session, "the session").open;
  if (!open) pillion::base::fail(ErrorCode::State, "the session is closed");
  if (open->ended) pillion::base::fail(ErrorCode::State, "MPI_Finalize has closed the session");
  return open->session;
}

pillion::simulation::Simulation& side(const pillion_session* session) {
  return opened(session).simulation();
}

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
  return out;
}

pillion::simulation::Sharing::Components components_of(const pillion_arrays* arrays) {
  const auto& of = given(arrays, "the arrays");
  if (of.size < sizeof of)
    pillion::base::fail(ErrorCode::Argument,
                        "pillion_arrays has a size of {}; set it to sizeof(pillion_arrays)",
                        of.size);
  if (of.components < 0)
    pillion::base::fail(ErrorCode::Argument, "pillion_arrays has {} components", of.components);
  if (of.components > 0) given(of.data, "data of the arrays");
  return {{of.data, static_cast<size_t>(of.components)}, of.type, of.strides};
}

std::span<const pillion_view> views_of(int32_t components, const pillion_view* views) {
  if (components < 0)
    pillion::base::fail(ErrorCode::Argument, "there are {} views of components", components);
  if (components > 0) given(views, "the views");
  return {views, static_cast<size_t>(components)};
}

}  // namespace

extern "C" {

const char* pillion_error_message(void) { return pillion::base::last_error(); }

const char* pillion_version(void) { return PILLION_VERSION; }

int32_t pillion_is_enabled(void) { return PILLION_ENABLED; }

pillion_status pillion_options_create(pillion_options** options) {
  return guard([&] { given(options, "options") = new pillion_options; });
}

void pillion_options_free(pillion_options* options) { delete options; }

pillion_status pillion_options_set(pillion_options* options, const char* name, const char* value) {
  return guard([&] {
    given(options, "options").options.parameters[text(name, "the name")] = text(value, "the value");
  });
}

pillion_status pillion_options_set_role(pillion_options* options, pillion_role role) {
  return guard([&] {
    if (role < PILLION_ROLE_ANY || role > PILLION_ROLE_SIDECAR)
      pillion::base::fail(ErrorCode::Argument, "role {} is not known", role);
    given(options, "options").options.role = static_cast<Role>(role);
  });
}

pillion_status pillion_options_set_catalogue(pillion_options* options, const char* yaml) {
  return guard([&] { given(options, "options").options.catalogue = text(yaml, "the catalogue"); });
}

pillion_status pillion_options_override(pillion_options* options, const char* key,
                                        const char* value) {
  return guard([&] {
    given(options, "options").options.overrides[text(key, "the key")] = text(value, "the value");
  });
}

pillion_status pillion_options_set_restart(pillion_options* options, const char* path) {
  return guard([&] { given(options, "options").options.restart = text(path, "the path"); });
}

pillion_status pillion_options_set_log(pillion_options* options, pillion_log_handler handler,
                                       void* context) {
  return guard([&] {
    given(options, "options").options.log =
        handler == nullptr ? Log(Log::Handler())
                           : Log([=](Level level, const std::string& message) {
                               handler(context, static_cast<int32_t>(level), message.c_str());
                             });
  });
}

pillion_status pillion_options_set_deferred(pillion_options* options) {
  return guard([&] { given(options, "options").options.deferred = true; });
}

pillion_status pillion_open_with(const char* file, MPI_Comm comm, const pillion_options* options,
                                 pillion_session** session) {
  return guard([&] { open_session(file, comm, options, session); });
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
  return guard([&] {
    given(session, "session") = nullptr;
    pillion::comm::expect_mpi();
    open_session(file, pillion::comm::from_fortran(comm), options, session);
  });
}

pillion_status pillion_set_parameter(pillion_session* session, const char* name,
                                     const char* value) {
  return guard(
      [&] { opened(session).set_parameter(text(name, "the name"), text(value, "the value")); });
}

pillion_status pillion_offer_catalogue(pillion_session* session, const char* yaml) {
  return guard([&] { opened(session).offer_catalogue(text(yaml, "the catalogue")); });
}

pillion_status pillion_configure(pillion_session* session) {
  return guard([&] { opened(session).ensure_configured(); });
}

int32_t pillion_serve(pillion_session* session) {
  if (session == nullptr) return 0;
  if (!session->is_sidecar) return 0;
  if (!session->open || session->open->ended) return 1;
  auto& mine = session->open->session;
  const auto status = guard([&] { mine.serve(); });
  if (status != 0)
    guard([&] { mine.log().failure("a sidecar ended early: {}", pillion_error_message()); });
  session->open.reset();
  return 1;
}

MPI_Comm pillion_communicator(const pillion_session* session) {
  const bool open = session != nullptr && session->open && !session->open->ended;
  return open ? session->open->session.communicator() : MPI_COMM_NULL;
}

MPI_Fint pillion_communicator_fortran(const pillion_session* session) {
  MPI_Fint handle = -1;  // for callers that ask while MPI is not running
  guard([&] {
    pillion::comm::expect_mpi();
    handle = pillion::comm::to_fortran(pillion_communicator(session));
  });
  return handle;
}

pillion_status pillion_count_fields(const pillion_session* session, int32_t* count) {
  return guard([&] {
    given(count, "count") =
        static_cast<int32_t>(side(session).data().catalogue().field_names().size());
  });
}

pillion_status pillion_get_field(const pillion_session* session, int32_t number,
                                 pillion_field* field) {
  return guard([&] { given(field, "field") = described(side(session), number); });
}

pillion_status pillion_share_box_level(pillion_session* session, const char* field, int32_t level,
                                       int32_t block, const int64_t* lo, const int64_t* hi,
                                       const void* data, pillion_type type,
                                       const int64_t* strides) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, lo, hi, data,
                                             type, strides);
  });
}

pillion_status pillion_share_box_strided(pillion_session* session, const char* field, int32_t block,
                                         const int64_t* lo, const int64_t* hi, const void* data,
                                         pillion_type type, const int64_t* strides) {
  return pillion_share_box_level(session, field, 0, block, lo, hi, data, type, strides);
}

pillion_status pillion_share_box_typed(pillion_session* session, const char* field, int32_t block,
                                       const int64_t* lo, const int64_t* hi, const void* data,
                                       pillion_type type) {
  return pillion_share_box_strided(session, field, block, lo, hi, data, type, nullptr);
}

pillion_status pillion_share_box_level_view(pillion_session* session, const char* field,
                                            int32_t level, int32_t block, int32_t axes,
                                            const int64_t* lo, const int64_t* hi,
                                            const pillion_view* view,
                                            pillion_components components) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, axes, lo, hi,
                                             given(view, "the view"),
                                             components == PILLION_COMPONENTS_LAST);
  });
}

pillion_status pillion_share_box_ghosts(pillion_session* session, const char* field, int32_t level,
                                        int32_t block, const int64_t* lo, const int64_t* hi,
                                        const int64_t* ghosts, const void* data,
                                        pillion_type type) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    given(ghosts, "ghosts");
    side(session).data().sharing().share_ghosts(text(field, "the field"), level, block, lo, hi,
                                                ghosts, data, type);
  });
}

pillion_status pillion_share_box_ghosts_view(pillion_session* session, const char* field,
                                             int32_t level, int32_t block, int32_t axes,
                                             const int64_t* lo, const int64_t* hi,
                                             const int64_t* ghosts, const pillion_view* view,
                                             pillion_components components) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    given(ghosts, "ghosts");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, axes, lo, hi,
                                             given(view, "the view"),
                                             components == PILLION_COMPONENTS_LAST, ghosts);
  });
}

pillion_status pillion_share_box_view(pillion_session* session, const char* field, int32_t block,
                                      int32_t axes, const int64_t* lo, const int64_t* hi,
                                      const pillion_view* view, pillion_components components) {
  return pillion_share_box_level_view(session, field, 0, block, axes, lo, hi, view, components);
}

pillion_status pillion_begin_blocks(pillion_session* session, const char* field) {
  return guard([&] { side(session).data().begin_blocks(text(field, "the field")); });
}

pillion_status pillion_end_blocks(pillion_session* session, const char* field) {
  return guard([&] { side(session).data().end_blocks(text(field, "the field")); });
}

pillion_status pillion_share_points(pillion_session* session, const char* mesh, int32_t block,
                                    const pillion_points* points) {
  return guard([&] {
    side(session).data().share_points(text(mesh, "the mesh"), block, given(points, "the points"));
  });
}

pillion_status pillion_share_cells(pillion_session* session, const char* mesh, int32_t block,
                                   const pillion_cells* cells) {
  return guard([&] {
    side(session).data().share_cells(text(mesh, "the mesh"), block, given(cells, "the cells"));
  });
}

pillion_status pillion_share_values_typed(pillion_session* session, const char* field,
                                          int32_t block, int64_t count, const void* data,
                                          pillion_type type) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Unstructured, text(field, "the field"),
                                               block, count, data, type);
  });
}

pillion_status pillion_share_values_view(pillion_session* session, const char* field, int32_t block,
                                         int64_t count, const pillion_view* view,
                                         pillion_components components) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Unstructured, text(field, "the field"),
                                               block, count, given(view, "the view"),
                                               components == PILLION_COMPONENTS_LAST);
  });
}

pillion_status pillion_share_particles_typed(pillion_session* session, const char* field,
                                             int32_t block, int64_t count, const void* data,
                                             pillion_type type) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Particles, text(field, "the field"), block,
                                               count, data, type);
  });
}

pillion_status pillion_share_elements_typed(pillion_session* session, const char* field,
                                            int32_t block, int64_t count, const void* data,
                                            pillion_type type) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Spectral, text(field, "the field"), block,
                                               count, data, type);
  });
}

pillion_status pillion_share_particles_view(pillion_session* session, const char* field,
                                            int32_t block, int64_t count, const pillion_view* view,
                                            pillion_components components) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Particles, text(field, "the field"), block,
                                               count, given(view, "the view"),
                                               components == PILLION_COMPONENTS_LAST);
  });
}

pillion_status pillion_share_elements_view(pillion_session* session, const char* field,
                                           int32_t block, int64_t count, const pillion_view* view) {
  return guard([&] {
    side(session).data().sharing().share_elements(text(field, "the field"), block, count,
                                                  given(view, "the view"));
  });
}

pillion_status pillion_share_box_components(pillion_session* session, const char* field,
                                            int32_t level, int32_t block, const int64_t* lo,
                                            const int64_t* hi, const pillion_arrays* arrays) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, lo, hi,
                                             components_of(arrays));
  });
}

pillion_status pillion_share_components(pillion_session* session, const char* field, int32_t block,
                                        int64_t count, const pillion_arrays* arrays) {
  return guard([&] {
    side(session).data().sharing().share_items(text(field, "the field"), block, count,
                                               components_of(arrays));
  });
}

pillion_status pillion_share_box_components_view(pillion_session* session, const char* field,
                                                 int32_t level, int32_t block, int32_t axes,
                                                 const int64_t* lo, const int64_t* hi,
                                                 int32_t components, const pillion_view* views) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, axes, lo, hi,
                                             views_of(components, views));
  });
}

pillion_status pillion_share_components_view(pillion_session* session, const char* field,
                                             int32_t block, int64_t count, int32_t components,
                                             const pillion_view* views) {
  return guard([&] {
    side(session).data().sharing().share_items(text(field, "the field"), block, count,
                                               views_of(components, views));
  });
}

pillion_status pillion_allocate(pillion_session* session, const char* field, int32_t block,
                                size_t bytes, int32_t buffers, void** data) {
  return guard([&] {
    given(data, "data") =
        side(session).data().allocate(text(field, "the field"), block, bytes, buffers);
  });
}

pillion_status pillion_swap(pillion_session* session, const char* field, int32_t block,
                            void** data) {
  return guard(
      [&] { given(data, "data") = side(session).data().swap(text(field, "the field"), block); });
}

pillion_status pillion_keep(const pillion_session* session, const void* data, pillion_kept** kept) {
  return guard([&] {
    given(kept, "kept") = nullptr;
    *kept = new pillion_kept{side(session).data().keep(data)};
  });
}

void pillion_release(pillion_kept* kept) { delete kept; }

pillion_status pillion_unshare(pillion_session* session, const char* field, int32_t block) {
  return guard([&] { side(session).data().unshare(text(field, "the field"), block); });
}

pillion_status pillion_set_domain(pillion_session* session, const char* mesh,
                                  const pillion_domain* domain) {
  return guard([&] {
    side(session).data().sharing().set_domain(text(mesh, "the mesh"), given(domain, "the domain"));
  });
}

pillion_status pillion_set_coordinates(pillion_session* session, const char* mesh, int32_t axis,
                                       int64_t count, const double* values) {
  return guard([&] {
    if (count > 0) given(values, "the coordinates");
    side(session).data().sharing().set_coordinates(text(mesh, "the mesh"), axis, count, values);
  });
}

pillion_status pillion_set_units(pillion_session* session, const char* name, const char* units) {
  return guard([&] {
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
  return guard([&] {
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
  return guard([&] { side(session).checkpoint(text(path, "the path")); });
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
  // MPI_Finalize has closed it; what it has of MPI cannot be freed any more.
  if (session->open && session->open->ended) return PILLION_OK;
  const auto status = guard([&] { opened(session).close(); });
  session->open.reset();
  return status;
}

}  // extern "C"

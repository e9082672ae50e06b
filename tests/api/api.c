/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole C interface as a simulation uses it: a grid cut into slabs, whose density lives in
 * memory of the session, and particles whose number changes, twelve steps, a checkpoint, and a
 * second session beside the first. The program is
 * compiled with the library and with the header of no-ops and asserts the same of both; where the
 * no-ops may do less, it says so by PILLION_ENABLED. */
#include <pillion/pillion.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { NX = 4, NY = 3, NZ = 8, STEPS = 12, PARTICLES = 40 };

typedef struct {
  int rank, ranks;
  int64_t lo[3], hi[3];
  double* density; /* memory of the session */
  float* velocity; /* three arrays, one after the other: strided for Pillion */
  double* position;
  int64_t* id;
  int32_t* kind;
} simulation;

static const char* catalogue =
    "meshes:\n"
    "  atoms: {kind: particles, units: m}\n"
    "  hexahedra: {kind: spectral, order: 1, coordinates: corner, units: m}\n"
    "  solid: {kind: unstructured, units: m}\n"
    "fields:\n"
    "  position: {mesh: atoms, type: float64, components: 3, units: m}\n"
    "  id: {mesh: atoms, type: int64}\n"
    "  kind: {mesh: atoms, type: int32}\n"
    "  corner: {mesh: hexahedra, type: float32, components: 3, units: m}\n"
    "  number: {mesh: hexahedra, type: int64, centering: cell}\n"
    "  marked: {mesh: hexahedra, type: uint8, centering: cell}\n"
    "  load: {mesh: solid, type: float32, components: 3, centering: point}\n";

static int messages = 0;
static void count_message(void* context, int32_t level, const char* message) {
  if (level >= PILLION_LOG_WARNING && message) ++*(int*)context;
}

static int64_t slab_cells(const simulation* s) { return NX * NY * (s->hi[2] - s->lo[2]); }

static simulation start(MPI_Comm comm) {
  simulation s = {.lo = {0, 0, 0}, .hi = {NX, NY, NZ}};
  MPI_Comm_rank(comm, &s.rank);
  MPI_Comm_size(comm, &s.ranks);
  s.lo[2] = NZ * s.rank / s.ranks;
  s.hi[2] = NZ * (s.rank + 1) / s.ranks;
  const size_t cells = (size_t)slab_cells(&s);
  s.velocity = calloc(3 * cells, sizeof *s.velocity);
  s.position = calloc(3 * PARTICLES, sizeof *s.position);
  s.id = calloc(PARTICLES, sizeof *s.id);
  s.kind = calloc(PARTICLES, sizeof *s.kind);
  return s;
}

static void stop(simulation* s) {
  free(s->velocity);
  free(s->position);
  free(s->id);
  free(s->kind);
}

/* The density of a step goes to another buffer than that of the step before, which must stay. */
static void rotate(pillion_session* session, simulation* s, int64_t step) {
  const double* before = s->density;
  void* data = NULL;
  CHECK(pillion_swap(session, "density", 0, &data) == PILLION_OK);
  CHECK(data != before);
  s->density = data;
  for (int64_t i = 0; i < slab_cells(s); ++i) s->density[i] = 1.0 + (double)step;
  CHECK(slab_cells(s) == 0 || before[0] == (step == 0 ? 0.0 : (double)step));
}

/* Particles wander: the last rank has none at even steps, and numbers differ between ranks. */
static int64_t advance(simulation* s, int64_t step) {
  for (int64_t i = 0; i < slab_cells(s); ++i) s->velocity[i] = (float)i;
  const int idle = s->ranks > 1 && s->rank == s->ranks - 1 && step % 2 == 0;
  const int64_t count = idle ? 0 : 1 + (step + s->rank) % (PARTICLES - 1);
  for (int64_t i = 0; i < count; ++i) {
    for (int d = 0; d < 3; ++d) s->position[3 * i + d] = (double)(i + d) / PARTICLES;
    s->id[i] = s->rank * PARTICLES + i;
    s->kind[i] = (int32_t)(i % 2);
  }
  return count;
}

static pillion_options* make_options(const char* output, int sidecars) {
  pillion_options* options = NULL;
  char text[16];
  CHECK(pillion_options_create(&options) == PILLION_OK && options);
  snprintf(text, sizeof text, "%d", sidecars);
  CHECK(pillion_options_set(options, "sidecars", text) == PILLION_OK);
  CHECK(pillion_options_set(options, "output", "unused") == PILLION_OK);
  CHECK(pillion_options_override(options, "output", output) == PILLION_OK);
  CHECK(pillion_options_override(options, "sidecars.deadline", "30 s") == PILLION_OK);
  CHECK(pillion_options_set(options, "nx", "4") == PILLION_OK);
  CHECK(pillion_options_set(options, "ny", "3") == PILLION_OK);
  CHECK(pillion_options_set(options, "nz", "8") == PILLION_OK);
  CHECK(pillion_options_set_role(options, PILLION_ROLE_ANY) == PILLION_OK);
  CHECK(pillion_options_set_catalogue(options, catalogue) == PILLION_OK);
  CHECK(pillion_options_set_restart(options, "") == PILLION_OK);
  CHECK(pillion_options_set_log(options, count_message, &messages) == PILLION_OK);
  return options;
}

static size_t density_bytes(const simulation* s) { return (size_t)slab_cells(s) * sizeof(double); }

static void allocate_density(pillion_session* session, simulation* s) {
  void* data = NULL;
  CHECK(pillion_allocate(session, "density", 0, density_bytes(s), 3, &data) == PILLION_OK);
  CHECK(data != NULL && (uintptr_t)data % sizeof(double) == 0);
  s->density = data;
  for (int64_t i = 0; i < slab_cells(s); ++i) s->density[i] = 0.0;
}

/* What is kept stays when the block is taken back, as often as it was kept. */
static void check_kept(pillion_session* session, void* data, size_t bytes) {
  pillion_kept *once = NULL, *twice = NULL, *none = NULL;
  CHECK(pillion_keep(session, &once, &none) == PILLION_ERROR_ARGUMENT && none == NULL);
  CHECK(pillion_keep(session, data, &once) == PILLION_OK && once != NULL);
  CHECK(pillion_keep(session, data, &twice) == PILLION_OK && twice != NULL);
  memset(data, 7, bytes);
  CHECK(pillion_unshare(session, "density", 5) == PILLION_OK);
  pillion_release(once);
  for (size_t i = 0; i < bytes; ++i) CHECK(((char*)data)[i] == 7);
  pillion_release(twice);
  pillion_release(NULL);
}

/* Every buffer keeps what was written to it, and the next is always another one. */
static void check_rotation(pillion_session* session, const simulation* s) {
  void *first = NULL, *second = NULL, *third = NULL, *none = NULL;
  const size_t bytes = density_bytes(s);
  CHECK(pillion_swap(session, "density", 5, &none) == PILLION_ERROR_STATE);
  CHECK(pillion_allocate(session, "density", 5, bytes, 1, &none) == PILLION_ERROR_ARGUMENT);
  CHECK(pillion_allocate(session, "density", 5, bytes, 2, &first) == PILLION_OK);
  CHECK(pillion_allocate(session, "density", 5, bytes, 2, &none) == PILLION_ERROR_STATE);
  memset(first, 1, bytes);
  CHECK(pillion_swap(session, "density", 5, &second) == PILLION_OK && second != first);
  memset(second, 2, bytes);
  CHECK(pillion_swap(session, "density", 5, &third) == PILLION_OK && third != second);
  for (size_t i = 0; i < bytes; ++i) {
    CHECK(((char*)second)[i] == 2);
    CHECK(third != first || ((char*)third)[i] == 1);
  }
  check_kept(session, third, bytes);
  CHECK(pillion_swap(session, "density", 5, &none) == PILLION_ERROR_STATE);
}

static void share_grid(pillion_session* session, const simulation* s) {
  const int64_t plane = NX * NY, cells = slab_cells(s);
  const int64_t strides[4] = {1, NX, plane, cells};
  CHECK(pillion_share_box(session, "density", 0, s->lo, s->hi, s->density) == PILLION_OK);
  CHECK(pillion_share_box_strided(session, "velocity", 0, s->lo, s->hi, s->velocity,
                                  PILLION_FLOAT32, strides) == PILLION_OK);
}

static void share_atoms(pillion_session* session, const simulation* s, int64_t count) {
  const pillion_domain domain = {
      .lo = {0, 0, 0}, .hi = {2, 2, 2}, .tilt = {0, 0, 0}, .periodic = {1, 1, 1}};
  CHECK(pillion_share_particles(session, "position", 0, count, s->position) == PILLION_OK);
  CHECK(pillion_share_particles(session, "id", 0, count, s->id) == PILLION_OK);
  CHECK(pillion_share_particles_typed(session, "kind", 0, count, s->kind, 0) == PILLION_OK);
  CHECK(pillion_set_domain(session, "atoms", &domain) == PILLION_OK);
  const double radii[4] = {0, 1, 3, 7};
  CHECK(pillion_set_coordinates(session, "stretched", 0, 4, radii) == PILLION_OK);
}

/* Elements of a mesh that no analysis looks at. */
static void share_elements(pillion_session* session) {
  static const float corner[2][3][2][2][2];
  static const int64_t number[2] = {5, 3};
  static const _Bool marked[2] = {1, 0};
  CHECK(pillion_share_elements(session, "corner", 0, 2, &corner[0][0][0][0][0]) == PILLION_OK);
  CHECK(pillion_share_elements(session, "number", 0, 2, number) == PILLION_OK);
  CHECK(pillion_share_elements(session, "marked", 0, 2, marked) == PILLION_OK);
  CHECK(pillion_share_elements_typed(session, "number", 1, 0, NULL, 0) == PILLION_OK);
  CHECK(pillion_unshare(session, "number", 1) == PILLION_OK);
  const pillion_view view = {number, PILLION_INT64, 1, {2}, {8}};
  CHECK(pillion_share_elements_view(session, "number", 0, 2, &view) == PILLION_OK);
}

/* A tetrahedron, whose points move. */
static void share_cells(pillion_session* session) {
  static const double x[4] = {0, 1, 0, 0}, y[4] = {0, 0, 1, 0}, z[4] = {0, 0, 0, 1};
  static const int32_t corners[4] = {0, 1, 2, 3};
  static const float load[12];
  pillion_points points = {.size = sizeof points, .count = 4, .type = PILLION_FLOAT64};
  points.data[0] = x, points.data[1] = y, points.data[2] = z;
  const pillion_cells cells = {
      .size = sizeof cells, .count = 1, .type = 10, .index_type = PILLION_INT32, .points = corners};
  for (int i = 0; i < 2; ++i)
    CHECK(pillion_share_points(session, "solid", 0, &points) == PILLION_OK);
  CHECK(pillion_share_cells(session, "solid", 0, &cells) == PILLION_OK);
  CHECK(pillion_share_values(session, "load", 0, 4, load) == PILLION_OK);
  const pillion_view view = {load, PILLION_FLOAT32, 2, {3, 4}, {4, 12}};
  CHECK(pillion_share_values_view(session, "load", 0, 4, &view, PILLION_COMPONENTS_FIRST) ==
        PILLION_OK);
}

/* An array with ghost cells around the slab. */
static void share_ghosts(pillion_session* session, const simulation* s) {
  static const float around[3 * (NX + 2) * (NY + 2) * NZ];
  const int64_t ghosts[3] = {1, 1, 0}, depth = s->hi[2] - s->lo[2];
  const pillion_view view = {
      around, PILLION_FLOAT32, 4, {3, NX + 2, NY + 2, depth}, {4, 12, 72, 72 * (NY + 2)}};
  CHECK(pillion_share_box_ghosts(session, "velocity", 0, 0, s->lo, s->hi, ghosts, around,
                                 PILLION_FLOAT32) == PILLION_OK);
  CHECK(pillion_share_box_ghosts_view(session, "velocity", 0, 0, 3, s->lo, s->hi, ghosts, &view,
                                      PILLION_COMPONENTS_FIRST) == PILLION_OK);
}

/* The same arrays as share_grid and share_atoms share, said with their shapes. */
static void share_views(pillion_session* session, const simulation* s) {
  const int64_t extents[3] = {NX, NY, s->hi[2] - s->lo[2]}, plane = NX * NY;
  pillion_view velocity = {.data = s->velocity, .type = PILLION_FLOAT32, .rank = 4};
  pillion_view kind = {.data = s->kind, .rank = 1, .extents = {PARTICLES}, .strides = {4}};
  for (int d = 0; d < 3; ++d) velocity.extents[d] = extents[d];
  velocity.extents[3] = 3;
  const int64_t strides[4] = {4, 4 * NX, 4 * plane, 4 * slab_cells(s)};
  memcpy(velocity.strides, strides, sizeof strides);
  CHECK(pillion_share_box_view(session, "velocity", 0, 3, s->lo, s->hi, &velocity,
                               PILLION_COMPONENTS_LAST) == PILLION_OK);
  CHECK(pillion_share_particles_view(session, "kind", 0, PARTICLES / 2, &kind,
                                     PILLION_COMPONENTS_FIRST) == PILLION_OK);
}

/* The same again, as one array for each component: velocity as it lies, particles as structures. */
static void share_components(pillion_session* session, const simulation* s) {
  const int64_t cells = slab_cells(s), every_third = 3;
  const void* velocity[3];
  const void* position[3];
  pillion_view views[3];
  for (int c = 0; c < 3; ++c) {
    velocity[c] = s->velocity + c * cells;
    position[c] = s->position + c;
    views[c] = (pillion_view){s->position + c, PILLION_FLOAT64, 1, {PARTICLES}, {24}};
  }
  pillion_arrays arrays = {.size = sizeof arrays, .data = velocity, .type = PILLION_FLOAT32};
  arrays.components = 3;
  CHECK(pillion_share_box_components(session, "velocity", 0, 0, s->lo, s->hi, &arrays) ==
        PILLION_OK);
  arrays = (pillion_arrays){sizeof arrays, position, 0, 3, &every_third};
  CHECK(pillion_share_components(session, "position", 0, PARTICLES / 2, &arrays) == PILLION_OK);
  CHECK(pillion_share_components_view(session, "position", 0, PARTICLES / 2, 3, views) ==
        PILLION_OK);
  for (int c = 0; c < 3; ++c)
    views[c] = (pillion_view){velocity[c], PILLION_FLOAT32, 1, {cells}, {4}};
  CHECK(pillion_share_box_components_view(session, "velocity", 0, 0, 3, s->lo, s->hi, 3, views) ==
        PILLION_OK);
  arrays.size = 8;
  const int32_t refused = PILLION_ENABLED ? PILLION_ERROR_ARGUMENT : PILLION_OK;
  CHECK(pillion_share_components(session, "position", 0, 1, &arrays) == refused);
}

static void check_communicator(const pillion_session* session, int sidecars) {
  const MPI_Comm comm = pillion_communicator(session);
  int size = 0, same = MPI_UNEQUAL;
  CHECK(comm != MPI_COMM_NULL);
  MPI_Comm_size(comm, &size);
  CHECK(size == expected_simulation_ranks(PILLION_ENABLED, sidecars));
  MPI_Comm_compare(comm, MPI_Comm_f2c(pillion_communicator_fortran(session)), &same);
  CHECK(same == MPI_IDENT);
}

/* What the file and the program's catalogue say together; only three of them are used. */
static void check_fields(const pillion_session* session) {
  int32_t count = -1, used = 0;
  pillion_field field;
  CHECK(pillion_count_fields(session, &count) == PILLION_OK);
  CHECK(count == (PILLION_ENABLED ? 9 : 0));
  for (int32_t f = 0; f < count; ++f) {
    CHECK(pillion_get_field(session, f, &field) == PILLION_OK);
    used += field.used;
    if (strcmp(field.name, "velocity") == 0) {
      CHECK(strcmp(field.mesh, "grid") == 0 && field.mesh_kind == PILLION_UNIFORM);
      CHECK(field.type == PILLION_FLOAT32 && field.components == 3 && field.used == 1);
      CHECK(field.axes == 3 && field.cells[0] == NX && field.cells[1] == NY &&
            field.cells[2] == NZ);
      CHECK(field.levels == 1 && field.is_partial == 0);
      CHECK(strcmp(field.units, "m/s") == 0 && field.is_constant == 0);
    }
    if (strcmp(field.name, "id") == 0) {
      CHECK(strcmp(field.mesh, "atoms") == 0 && field.mesh_kind == PILLION_PARTICLES);
      CHECK(field.type == PILLION_INT64 && field.components == 1 && field.used == 0);
      CHECK(field.axes == 0 && field.cells[0] == 0);
    }
    if (strcmp(field.mesh, "hexahedra") == 0) {
      CHECK(field.mesh_kind == PILLION_SPECTRAL && field.axes == 0 && field.used == 0);
      CHECK(field.order == (strcmp(field.name, "corner") == 0 ? 1 : 0));
    }
    if (strcmp(field.mesh, "solid") == 0) CHECK(field.mesh_kind == PILLION_UNSTRUCTURED);
  }
  CHECK(used == (PILLION_ENABLED ? 3 : 0));
  CHECK(pillion_get_field(session, count, &field) == PILLION_ERROR_ARGUMENT);
  CHECK(pillion_get_field(session, -1, &field) == PILLION_ERROR_ARGUMENT);
}

/* The first analysis is due every second step, the other every third. */
static void run_steps(pillion_session* session, simulation* s) {
  int64_t publications = 0;
  for (int64_t step = 0; step < STEPS; ++step) {
    const double time = 0.5 * (double)step;
    int32_t due = -1;
    CHECK(pillion_is_due(session, step, time, &due) == PILLION_OK);
    CHECK(due == (PILLION_ENABLED && (step % 2 == 0 || step % 3 == 0)));
    publications += due;
    rotate(session, s, step);
    const int64_t count = advance(s, step);
    if (due) share_atoms(session, s, count);
    CHECK(pillion_step(session, step, time) == PILLION_OK);
  }
  pillion_progress progress;
  CHECK(pillion_get_progress(session, &progress) == PILLION_OK);
  CHECK(progress.step == STEPS - 1);
  CHECK(progress.time == 0.5 * (STEPS - 1));
  CHECK(progress.publications == publications);
  CHECK(progress.skipped == 0 && progress.disabled == 0);
  CHECK(progress.behind >= 0 && progress.stall_seconds >= 0);
}

static void run_second_session(MPI_Comm comm) {
  pillion_session* session = NULL;
  int rank = 0, ranks = 1;
  float heights[16] = {0};
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int64_t lo = 16 * rank / ranks, hi = 16 * (rank + 1) / ranks;
  CHECK(pillion_open_fortran("second.yaml", MPI_Comm_c2f(comm), &session) == PILLION_OK);
  CHECK(pillion_serve(session) == 0);
  CHECK(pillion_share_box(session, "height", 0, &lo, &hi, heights) == PILLION_OK);
  CHECK(pillion_step(session, 0, 0.0) == PILLION_OK);
  CHECK(pillion_close(session) == PILLION_OK);
}

static void check_scalars(const pillion_session* session) {
  int32_t count = -1;
  const char* name = NULL;
  CHECK(pillion_count_scalars(session, &count) == PILLION_OK);
  CHECK(count == (PILLION_ENABLED ? 1 : 0));
  if (count == 1) {
    CHECK(pillion_get_scalar_name(session, 0, &name) == PILLION_OK);
    CHECK(name != NULL && strcmp(name, "a") == 0);
  }
  CHECK(pillion_get_scalar_name(session, count, &name) == PILLION_ERROR_ARGUMENT);
}

/* The catalogue comes when the session is there, and a scalar with each step. */
static void run_in_two_phases(MPI_Comm comm) {
  pillion_session* session = NULL;
  pillion_options* options = NULL;
  const double height = 1;
  const int64_t lo = 0, hi = 1;
  const pillion_status too_early = PILLION_ENABLED ? PILLION_ERROR_STATE : PILLION_OK;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  CHECK(pillion_options_create(&options) == PILLION_OK);
  CHECK(pillion_options_set_deferred(options) == PILLION_OK);
  CHECK(pillion_open_with("third.yaml", comm, options, &session) == PILLION_OK);
  pillion_options_free(options);
  CHECK(pillion_serve(session) == 0);
  CHECK(pillion_communicator(session) != MPI_COMM_NULL);
  CHECK(pillion_set_scalar(session, "a", 1.0) == too_early);
  CHECK(pillion_set_parameter(session, "last", "5") == PILLION_OK);
  CHECK(pillion_offer_catalogue(session,
                                "meshes: {line: {kind: uniform, cells: [1]}}\n"
                                "fields: {height: {mesh: line, type: float64}}\n"
                                "scalars: [a]\n") == PILLION_OK);
  CHECK(pillion_configure(session) == PILLION_OK);
  CHECK(pillion_configure(session) == PILLION_OK);
  CHECK(pillion_set_parameter(session, "last", "6") == too_early);
  check_scalars(session);
  if (rank == 0) CHECK(pillion_share_box(session, "height", 0, &lo, &hi, &height) == PILLION_OK);
  for (int64_t step = 0; step < 3; ++step) {
    CHECK(pillion_set_scalar(session, "a", 0.5 * (double)step) == PILLION_OK);
    CHECK(pillion_step(session, step, 0.0) == PILLION_OK);
  }
  CHECK(pillion_close(session) == PILLION_OK);
}

static void simulate(pillion_session* session, int sidecars) {
  char report[1024] = "";
  check_communicator(session, sidecars);
  check_fields(session);
  simulation s = start(pillion_communicator(session));
  CHECK(pillion_set_units(session, "density", "g/cm^3") == PILLION_OK);
  allocate_density(session, &s);
  check_rotation(session, &s);
  share_grid(session, &s);
  share_ghosts(session, &s);
  share_views(session, &s);
  share_components(session, &s);
  CHECK(pillion_share_particles(session, "id", 7, 0, s.id) == PILLION_OK);
  CHECK(pillion_unshare(session, "id", 7) == PILLION_OK);
  share_atoms(session, &s, advance(&s, 0));
  share_elements(session);
  share_cells(session);
  CHECK(pillion_ready(session) == PILLION_OK);
  run_steps(session, &s);
  run_second_session(pillion_communicator(session));
  run_in_two_phases(pillion_communicator(session));
  CHECK(pillion_checkpoint(session, "checkpoint") == PILLION_OK);
  CHECK(pillion_report_path(session) != NULL);
  strncat(report, pillion_report_path(session), sizeof report - 1);
  MPI_Barrier(pillion_communicator(session));
  CHECK(pillion_close(session) == PILLION_OK);
  CHECK(!PILLION_ENABLED ||
        (report[0] == '/' && file_exists(report) && strstr(report, "/results/")));
  CHECK(messages == 0);
  stop(&s);
}

/* A session that is none, as one that has been closed should be, is refused. */
static void check_no_session(void) {
  pillion_progress progress;
  pillion_kept* kept = NULL;
  void* data = NULL;
  CHECK(pillion_communicator(NULL) == MPI_COMM_NULL);
  CHECK(pillion_step(NULL, 0, 0.0) == PILLION_ERROR_ARGUMENT);
  CHECK(pillion_get_progress(NULL, &progress) == PILLION_ERROR_ARGUMENT);
  CHECK(pillion_allocate(NULL, "density", 0, 8, 2, &data) == PILLION_ERROR_ARGUMENT);
  CHECK(pillion_swap(NULL, "density", 0, &data) == PILLION_ERROR_ARGUMENT);
  CHECK(pillion_keep(NULL, &data, &kept) == PILLION_ERROR_ARGUMENT);
  CHECK(data == NULL && kept == NULL);
}

int main(int argc, char** argv) {
  pillion_session* session = NULL;
  MPI_Init(&argc, &argv);
  const int sidecars = world_size() > 1 ? 1 : 0;
  pillion_options* options = make_options("results", sidecars);
  CHECK(strcmp(pillion_version(), PILLION_VERSION) == 0);
  CHECK(pillion_is_enabled() == PILLION_ENABLED);
  CHECK(pillion_open_with_fortran("session.yaml", MPI_Comm_c2f(MPI_COMM_WORLD), options,
                                  &session) == PILLION_OK);
  pillion_options_free(options);
  CHECK(session != NULL);
  if (!session) fprintf(stderr, "open: %s\n", pillion_error_message());
  else if (pillion_serve(session) == 0) simulate(session, sidecars);
  CHECK(pillion_close(NULL) == PILLION_OK);
  check_no_session();
  CHECK(pillion_error_message() != NULL);
  const int status = agreed_status();
  MPI_Finalize();
  return status;
}

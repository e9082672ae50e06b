/* SPDX-License-Identifier: BSD-3-Clause */
/* Pillion's C interface as functions that do nothing, for builds without Pillion: put this folder
 * in front of the include path and link no library. Types and prototypes are those of the real
 * header, so mistakes in calls are still found; what each function means is documented there.
 *
 * Every rank is a simulation rank, its communicator is the one that was given to open, no step is
 * ever due, there are no fields, nothing is read or written. Memory from pillion_allocate is real
 * and rotates, since programs compute in it. No call fails, but for want of memory, or where such
 * memory is asked for in a way that makes no sense. */
#ifndef PILLION_PILLION_H
#define PILLION_PILLION_H

#include <mpi.h>
#include <pillion/types.h>
#include <pillion/version.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 1 in the library, 0 in the header of no-ops. */
#define PILLION_ENABLED 0

/** The memory of one block: a name, and buffers one after another. It goes when neither the session
 * nor anybody else keeps it. */
typedef struct pillion_kept {
  struct pillion_kept* next;
  char* field;
  char* buffers;
  size_t stride;
  int32_t block;
  int32_t count;
  int32_t current;
  int32_t keepers;
} pillion_kept;

/** What a session that does nothing must know to answer. */
typedef struct pillion_session {
  MPI_Comm comm;
  int64_t step;
  double time;
  pillion_kept* memory;
} pillion_session;

/** Nobody reads options. */
typedef struct pillion_options {
  int32_t reserved;
} pillion_options;

/** Status of a call. */
enum {
  PILLION_OK = 0,
  PILLION_ERROR_ARGUMENT = 1,
  PILLION_ERROR_CONFIGURATION = 2,
  PILLION_ERROR_SHARING = 3,
  PILLION_ERROR_PLACEMENT = 4,
  PILLION_ERROR_PLUGIN = 5,
  PILLION_ERROR_STAGE = 6,
  PILLION_ERROR_FILE = 7,
  PILLION_ERROR_STATE = 8,
  PILLION_ERROR_INTERNAL = 9
};
typedef int32_t pillion_status;

/** What a rank may become. */
enum { PILLION_ROLE_ANY = 0, PILLION_ROLE_SIMULATION = 1, PILLION_ROLE_SIDECAR = 2 };
typedef int32_t pillion_role;

/** Severity of a log message. */
enum {
  PILLION_LOG_DEBUG = 0,
  PILLION_LOG_INFO = 1,
  PILLION_LOG_WARNING = 2,
  PILLION_LOG_ERROR = 3
};
typedef void (*pillion_log_handler)(void* context, int32_t level, const char* message);

/** How the run is doing; only step and time are ever set here. */
typedef struct pillion_progress {
  int64_t step;
  double time;
  double steps_per_second;
  int64_t publications;
  int64_t skipped;
  int64_t behind;
  double stall_seconds;
  int64_t disabled;
} pillion_progress;

/** A field of the catalogue, and the mesh that it lives on. */
typedef struct pillion_field {
  const char* name;
  const char* mesh;
  pillion_mesh_kind mesh_kind;
  pillion_type type;
  int32_t components;
  int32_t axes;
  int64_t cells[3];
  int32_t used;
  int32_t order;
  int32_t levels;
  int32_t is_partial;
  pillion_centering centering;
  int32_t point_axes;
  int32_t is_constant;
  const char* units;
} pillion_field;

static inline const char* pillion_error_message(void) { return ""; }

static inline const char* pillion_version(void) { return PILLION_VERSION; }

static inline int32_t pillion_is_enabled(void) { return PILLION_ENABLED; }

/* ---- options ------------------------------------------------------------------------------- */

static inline pillion_status pillion_options_create(pillion_options** options) {
  *options = (pillion_options*)calloc(1, sizeof(pillion_options));
  return *options ? PILLION_OK : PILLION_ERROR_INTERNAL;
}

static inline void pillion_options_free(pillion_options* options) { free(options); }

static inline pillion_status pillion_options_set(pillion_options* options, const char* name,
                                                 const char* value) {
  (void)options, (void)name, (void)value;
  return PILLION_OK;
}

static inline pillion_status pillion_options_set_role(pillion_options* options, pillion_role role) {
  (void)options, (void)role;
  return PILLION_OK;
}

static inline pillion_status pillion_options_set_catalogue(pillion_options* options,
                                                           const char* yaml) {
  (void)options, (void)yaml;
  return PILLION_OK;
}

static inline pillion_status pillion_options_override(pillion_options* options, const char* key,
                                                      const char* value) {
  (void)options, (void)key, (void)value;
  return PILLION_OK;
}

static inline pillion_status pillion_options_set_restart(pillion_options* options,
                                                         const char* path) {
  (void)options, (void)path;
  return PILLION_OK;
}

static inline pillion_status pillion_options_set_deferred(pillion_options* options) {
  (void)options;
  return PILLION_OK;
}

static inline pillion_status pillion_options_set_log(pillion_options* options,
                                                     pillion_log_handler handler, void* context) {
  (void)options, (void)handler, (void)context;
  return PILLION_OK;
}

/* ---- a session ------------------------------------------------------------------------------ */

static inline pillion_status pillion_open(const char* file, MPI_Comm comm,
                                          pillion_session** session) {
  (void)file;
  *session = (pillion_session*)calloc(1, sizeof(pillion_session));
  if (!*session) return PILLION_ERROR_INTERNAL;
  (*session)->comm = comm;
  return PILLION_OK;
}

static inline pillion_status pillion_open_with(const char* file, MPI_Comm comm,
                                               const pillion_options* options,
                                               pillion_session** session) {
  (void)options;
  return pillion_open(file, comm, session);
}

static inline pillion_status pillion_open_fortran(const char* file, MPI_Fint comm,
                                                  pillion_session** session) {
  return pillion_open(file, MPI_Comm_f2c(comm), session);
}

static inline pillion_status pillion_open_with_fortran(const char* file, MPI_Fint comm,
                                                       const pillion_options* options,
                                                       pillion_session** session) {
  (void)options;
  return pillion_open_fortran(file, comm, session);
}

static inline pillion_status pillion_set_parameter(pillion_session* session, const char* name,
                                                   const char* value) {
  (void)session, (void)name, (void)value;
  return PILLION_OK;
}

static inline pillion_status pillion_offer_catalogue(pillion_session* session, const char* yaml) {
  (void)session, (void)yaml;
  return PILLION_OK;
}

static inline pillion_status pillion_configure(pillion_session* session) {
  (void)session;
  return PILLION_OK;
}

static inline int32_t pillion_serve(pillion_session* session) {
  (void)session;
  return 0;
}

static inline MPI_Comm pillion_communicator(const pillion_session* session) {
  return session ? session->comm : MPI_COMM_NULL;
}

static inline MPI_Fint pillion_communicator_fortran(const pillion_session* session) {
  return MPI_Comm_c2f(pillion_communicator(session));
}

static inline pillion_status pillion_count_fields(const pillion_session* session, int32_t* count) {
  (void)session;
  *count = 0;
  return PILLION_OK;
}

static inline pillion_status pillion_get_field(const pillion_session* session, int32_t number,
                                               pillion_field* field) {
  (void)session, (void)number, (void)field;
  return PILLION_ERROR_ARGUMENT;
}

static inline pillion_status pillion_count_scalars(const pillion_session* session, int32_t* count) {
  (void)session;
  *count = 0;
  return PILLION_OK;
}

static inline pillion_status pillion_get_scalar_name(const pillion_session* session, int32_t number,
                                                     const char** name) {
  (void)session, (void)number, (void)name;
  return PILLION_ERROR_ARGUMENT;
}

/* ---- sharing -------------------------------------------------------------------------------- */

static inline pillion_status pillion_share_box_typed(pillion_session* session, const char* field,
                                                     int32_t block, const int64_t* lo,
                                                     const int64_t* hi, const void* data,
                                                     pillion_type type) {
  (void)session, (void)field, (void)block, (void)lo, (void)hi, (void)data, (void)type;
  return PILLION_OK;
}

static inline pillion_status pillion_share_box_strided(pillion_session* session, const char* field,
                                                       int32_t block, const int64_t* lo,
                                                       const int64_t* hi, const void* data,
                                                       pillion_type type, const int64_t* strides) {
  (void)strides;
  return pillion_share_box_typed(session, field, block, lo, hi, data, type);
}

static inline pillion_status pillion_share_box_view(pillion_session* session, const char* field,
                                                    int32_t block, int32_t axes, const int64_t* lo,
                                                    const int64_t* hi, const pillion_view* view,
                                                    pillion_components components) {
  (void)axes, (void)components;
  return pillion_share_box_typed(session, field, block, lo, hi, view->data, view->type);
}

static inline pillion_status pillion_share_box_level(pillion_session* session, const char* field,
                                                     int32_t level, int32_t block,
                                                     const int64_t* lo, const int64_t* hi,
                                                     const void* data, pillion_type type,
                                                     const int64_t* strides) {
  (void)level, (void)strides;
  return pillion_share_box_typed(session, field, block, lo, hi, data, type);
}

static inline pillion_status pillion_share_box_level_view(
    pillion_session* session, const char* field, int32_t level, int32_t block, int32_t axes,
    const int64_t* lo, const int64_t* hi, const pillion_view* view, pillion_components components) {
  (void)level, (void)axes, (void)components;
  return pillion_share_box_typed(session, field, block, lo, hi, view->data, view->type);
}

static inline pillion_status pillion_share_box_ghosts(pillion_session* session, const char* field,
                                                      int32_t level, int32_t block,
                                                      const int64_t* lo, const int64_t* hi,
                                                      const int64_t* ghosts, const void* data,
                                                      pillion_type type) {
  (void)level, (void)ghosts;
  return pillion_share_box_typed(session, field, block, lo, hi, data, type);
}

static inline pillion_status pillion_share_box_ghosts_view(
    pillion_session* session, const char* field, int32_t level, int32_t block, int32_t axes,
    const int64_t* lo, const int64_t* hi, const int64_t* ghosts, const pillion_view* view,
    pillion_components components) {
  (void)level, (void)axes, (void)ghosts, (void)components;
  return pillion_share_box_typed(session, field, block, lo, hi, view->data, view->type);
}

#define PILLION_ANY_BLOCK (-1)

static inline pillion_status pillion_begin_blocks(pillion_session* session, const char* field) {
  (void)session, (void)field;
  return PILLION_OK;
}

static inline pillion_status pillion_end_blocks(pillion_session* session, const char* field) {
  (void)session, (void)field;
  return PILLION_OK;
}

static inline pillion_status pillion_share_particles_typed(pillion_session* session,
                                                           const char* field, int32_t block,
                                                           int64_t count, const void* data,
                                                           pillion_type type) {
  (void)session, (void)field, (void)block, (void)count, (void)data, (void)type;
  return PILLION_OK;
}

static inline pillion_status pillion_share_elements_typed(pillion_session* session,
                                                          const char* field, int32_t block,
                                                          int64_t count, const void* data,
                                                          pillion_type type) {
  (void)session, (void)field, (void)block, (void)count, (void)data, (void)type;
  return PILLION_OK;
}

static inline pillion_status pillion_share_particles_view(pillion_session* session,
                                                          const char* field, int32_t block,
                                                          int64_t count, const pillion_view* view,
                                                          pillion_components components) {
  (void)components;
  return pillion_share_particles_typed(session, field, block, count, view->data, view->type);
}

static inline pillion_status pillion_share_elements_view(pillion_session* session,
                                                         const char* field, int32_t block,
                                                         int64_t count, const pillion_view* view) {
  return pillion_share_elements_typed(session, field, block, count, view->data, view->type);
}

static inline pillion_status pillion_share_points(pillion_session* session, const char* mesh,
                                                  int32_t block, const pillion_points* points) {
  (void)session, (void)mesh, (void)block, (void)points;
  return PILLION_OK;
}

static inline pillion_status pillion_share_cells(pillion_session* session, const char* mesh,
                                                 int32_t block, const pillion_cells* cells) {
  (void)session, (void)mesh, (void)block, (void)cells;
  return PILLION_OK;
}

static inline pillion_status pillion_share_values_typed(pillion_session* session, const char* field,
                                                        int32_t block, int64_t count,
                                                        const void* data, pillion_type type) {
  (void)session, (void)field, (void)block, (void)count, (void)data, (void)type;
  return PILLION_OK;
}

static inline pillion_status pillion_share_values_view(pillion_session* session, const char* field,
                                                       int32_t block, int64_t count,
                                                       const pillion_view* view,
                                                       pillion_components components) {
  (void)components;
  return pillion_share_values_typed(session, field, block, count, view->data, view->type);
}

/** A field whose components lie in arrays of their own; nobody reads it. */
typedef struct pillion_arrays {
  size_t size;
  const void* const* data;
  pillion_type type;
  int32_t components;
  const int64_t* strides;
} pillion_arrays;

static inline pillion_status pillion_share_box_components(pillion_session* session,
                                                          const char* field, int32_t level,
                                                          int32_t block, const int64_t* lo,
                                                          const int64_t* hi,
                                                          const pillion_arrays* arrays) {
  (void)session, (void)field, (void)level, (void)block, (void)lo, (void)hi, (void)arrays;
  return PILLION_OK;
}

static inline pillion_status pillion_share_components(pillion_session* session, const char* field,
                                                      int32_t block, int64_t count,
                                                      const pillion_arrays* arrays) {
  (void)session, (void)field, (void)block, (void)count, (void)arrays;
  return PILLION_OK;
}

static inline pillion_status pillion_share_box_components_view(
    pillion_session* session, const char* field, int32_t level, int32_t block, int32_t axes,
    const int64_t* lo, const int64_t* hi, int32_t components, const pillion_view* views) {
  (void)session, (void)field, (void)level, (void)block, (void)axes;
  (void)lo, (void)hi, (void)components, (void)views;
  return PILLION_OK;
}

static inline pillion_status pillion_share_components_view(pillion_session* session,
                                                           const char* field, int32_t block,
                                                           int64_t count, int32_t components,
                                                           const pillion_view* views) {
  (void)session, (void)field, (void)block, (void)count, (void)components, (void)views;
  return PILLION_OK;
}

/* Where the memory of a block hangs, or where it would hang. */
static inline pillion_kept** pillion_noop_find(pillion_session* session, const char* field,
                                               int32_t block) {
  pillion_kept** at = &session->memory;
  while (*at && ((*at)->block != block || strcmp((*at)->field, field) != 0)) at = &(*at)->next;
  return at;
}

static inline void pillion_release(pillion_kept* kept) {
  if (!kept || --kept->keepers > 0) return;
  free(kept->buffers);
  free(kept->field);
  free(kept);
}

static inline void pillion_noop_release(pillion_kept** at) {
  pillion_kept* gone = *at;
  *at = gone->next;
  pillion_release(gone);
}

static inline pillion_status pillion_keep(const pillion_session* session, const void* data,
                                          pillion_kept** kept) {
  pillion_kept* memory = session ? session->memory : NULL;
  const char* at = (const char*)data;
  while (memory &&
         (at < memory->buffers || at >= memory->buffers + (size_t)memory->count * memory->stride))
    memory = memory->next;
  *kept = memory;
  if (!memory) return PILLION_ERROR_ARGUMENT;
  ++memory->keepers;
  return PILLION_OK;
}

static inline pillion_status pillion_allocate(pillion_session* session, const char* field,
                                              int32_t block, size_t bytes, int32_t buffers,
                                              void** data) {
  const size_t stride = bytes / 64 * 64 + 64;
  pillion_kept** at;
  pillion_kept* memory;
  if (!session || buffers < 2 || stride < bytes) return PILLION_ERROR_ARGUMENT;
  at = pillion_noop_find(session, field, block);
  if (*at) return PILLION_ERROR_STATE;
  memory = (pillion_kept*)calloc(1, sizeof(pillion_kept));
  if (!memory) return PILLION_ERROR_FILE;
  *at = memory;
  memory->keepers = 1;
  memory->field = (char*)malloc(strlen(field) + 1);
  memory->buffers = (char*)calloc((size_t)buffers, stride);
  if (!memory->field || !memory->buffers) {
    pillion_noop_release(at);
    return PILLION_ERROR_FILE;
  }
  strcpy(memory->field, field);
  memory->stride = stride;
  memory->block = block;
  memory->count = buffers;
  *data = memory->buffers;
  return PILLION_OK;
}

static inline pillion_status pillion_swap(pillion_session* session, const char* field,
                                          int32_t block, void** data) {
  pillion_kept* memory = session ? *pillion_noop_find(session, field, block) : NULL;
  if (!memory) return session ? PILLION_ERROR_STATE : PILLION_ERROR_ARGUMENT;
  memory->current = (memory->current + 1) % memory->count;
  *data = memory->buffers + (size_t)memory->current * memory->stride;
  return PILLION_OK;
}

static inline pillion_status pillion_unshare(pillion_session* session, const char* field,
                                             int32_t block) {
  pillion_kept** at = pillion_noop_find(session, field, block);
  if (*at) pillion_noop_release(at);
  return PILLION_OK;
}

static inline pillion_status pillion_set_domain(pillion_session* session, const char* mesh,
                                                const pillion_domain* domain) {
  (void)session, (void)mesh, (void)domain;
  return PILLION_OK;
}

static inline pillion_status pillion_set_coordinates(pillion_session* session, const char* mesh,
                                                     int32_t axis, int64_t count,
                                                     const double* values) {
  (void)session, (void)mesh, (void)axis, (void)count, (void)values;
  return PILLION_OK;
}

static inline pillion_status pillion_set_scalar(pillion_session* session, const char* name,
                                                double value) {
  (void)session, (void)name, (void)value;
  return PILLION_OK;
}

static inline pillion_status pillion_set_units(pillion_session* session, const char* name,
                                               const char* units) {
  (void)session, (void)name, (void)units;
  return PILLION_OK;
}

static inline pillion_status pillion_ready(pillion_session* session) {
  (void)session;
  return PILLION_OK;
}

/* ---- stepping ------------------------------------------------------------------------------- */

static inline pillion_status pillion_is_due(const pillion_session* session, int64_t step,
                                            double time, int32_t* due) {
  (void)session, (void)step, (void)time;
  *due = 0;
  return PILLION_OK;
}

static inline pillion_status pillion_step(pillion_session* session, int64_t step, double time) {
  if (!session) return PILLION_ERROR_ARGUMENT;
  session->step = step;
  session->time = time;
  return PILLION_OK;
}

static inline pillion_status pillion_checkpoint(pillion_session* session, const char* path) {
  (void)session, (void)path;
  return PILLION_OK;
}

static inline pillion_status pillion_get_progress(const pillion_session* session,
                                                  pillion_progress* progress) {
  if (!session) return PILLION_ERROR_ARGUMENT;
  const pillion_progress now = {session->step, session->time, 0, 0, 0, 0, 0, 0};
  *progress = now;
  return PILLION_OK;
}

static inline const char* pillion_report_path(const pillion_session* session) {
  (void)session;
  return "";
}

static inline pillion_status pillion_close(pillion_session* session) {
  while (session && session->memory) pillion_noop_release(&session->memory);
  free(session);
  return PILLION_OK;
}

#ifdef __cplusplus
}
#else
/* In C the type of the pointer says the type of the field, so a mistake is found. */
#define PILLION_TYPE_OF(data) \
  _Generic((data), double*: PILLION_FLOAT64, const double*: PILLION_FLOAT64,                       \
      float*: PILLION_FLOAT32, const float*: PILLION_FLOAT32, int8_t*: PILLION_INT8,               \
      const int8_t*: PILLION_INT8, uint8_t*: PILLION_UINT8, const uint8_t*: PILLION_UINT8,         \
      _Bool*: PILLION_UINT8, const _Bool*: PILLION_UINT8, int16_t*: PILLION_INT16,                 \
      const int16_t*: PILLION_INT16, uint16_t*: PILLION_UINT16, const uint16_t*: PILLION_UINT16,   \
      int32_t*: PILLION_INT32, const int32_t*: PILLION_INT32, uint32_t*: PILLION_UINT32,           \
      const uint32_t*: PILLION_UINT32, int64_t*: PILLION_INT64, const int64_t*: PILLION_INT64,     \
      uint64_t*: PILLION_UINT64, const uint64_t*: PILLION_UINT64, default: 0)
#define pillion_share_box(session, field, block, lo, hi, data) \
  pillion_share_box_typed(session, field, block, lo, hi, data, PILLION_TYPE_OF(data))
#define pillion_share_particles(session, field, block, count, data) \
  pillion_share_particles_typed(session, field, block, count, data, PILLION_TYPE_OF(data))
#define pillion_share_elements(session, field, block, count, data) \
  pillion_share_elements_typed(session, field, block, count, data, PILLION_TYPE_OF(data))
#define pillion_share_values(session, field, block, count, data) \
  pillion_share_values_typed(session, field, block, count, data, PILLION_TYPE_OF(data))
#endif

#endif

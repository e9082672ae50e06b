/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface for simulations. Every function returns a status and never exits, aborts or
 * throws; the message of the last failure on this thread is in pillion_error_message(). A call with
 * a session that has closed, or while MPI is not running, fails with PILLION_ERROR_STATE.
 *
 * A rank uses one session from one thread. [collective] means that every rank of the communicator
 * named must make the call. Handles are opaque; strings that are passed in are copied, strings that
 * are handed out belong to the library. Two sessions may live in one process. */
#ifndef PILLION_PILLION_H
#define PILLION_PILLION_H

#include <mpi.h>
#include <pillion/types.h>
#include <pillion/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 1 in the library, 0 in the header of no-ops. */
#define PILLION_ENABLED 1

typedef struct pillion_session pillion_session;
typedef struct pillion_options pillion_options;

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

/** What a rank may become. ANY lets the session choose. */
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

/** How the run is doing, as this simulation rank knows it without asking anyone. */
typedef struct pillion_progress {
  int64_t step;            /**< the last step offered, as the program counts */
  double time;             /**< its time, in the simulation's units */
  double steps_per_second; /**< since the first step */
  int64_t publications;    /**< publications made so far */
  int64_t skipped;         /**< publications that were due and skipped */
  int64_t behind;          /**< publications that sidecars have not finished */
  double stall_seconds;    /**< time spent waiting for sidecars */
  int64_t disabled;        /**< analyses disabled by a failure */
} pillion_progress;

/** A field of the catalogue, and the mesh that it lives on. Texts belong to the session. */
typedef struct pillion_field {
  const char* name;
  const char* mesh;
  pillion_mesh_kind mesh_kind;
  pillion_type type;
  int32_t components;
  int32_t axes;     /**< of a uniform mesh: 1 to 3; 2 of spectral elements of two dimensions; of
                     * others 0 */
  int64_t cells[3]; /**< of a uniform mesh, 1 beyond its axes; of others 0 */
  int32_t used;     /**< 1 if an analysis or a condition uses it, so that it must be shared. 0 of a
                     * field that consists of others: these are used, and shared */
  int32_t order;    /**< of the elements of a spectral mesh, for a field at their points; of others
                       0. An element has components * (order + 1)^3 values of the field, or
                       components * (order + 1)^2 in two dimensions */
  int32_t levels;   /**< of refinement of a uniform mesh, whose cells are those of the coarsest;
                     * of others 1 */
  int32_t is_partial;          /**< 1 if cells of a uniform mesh may be missing */
  pillion_centering centering; /**< where the mesh has its values; 0 of particles */
  int32_t point_axes;          /**< of a mesh of boxes: bit d is set if arrays have one value more
                                * than cells along axis d: all for points, one for faces, all but one
                                * for edges */
  int32_t is_constant;         /**< 1 if the catalogue says that values never change */
  const char* units;           /**< as the configuration or the program has set them; "" if none */
} pillion_field;

/** Message of the last failure on this thread; "" if there was none. Never NULL. */
const char* pillion_error_message(void);

/** "MAJOR.MINOR.PATCH" of the library that is running. */
const char* pillion_version(void);

/** PILLION_ENABLED, for languages without a preprocessor. */
int32_t pillion_is_enabled(void);

/* ---- options ------------------------------------------------------------------------------- */

/** A new set of options with every default. Free it with pillion_options_free. */
pillion_status pillion_options_create(pillion_options** options);
void pillion_options_free(pillion_options* options);

/** Value of `$name` in the YAML file. */
pillion_status pillion_options_set(pillion_options* options, const char* name, const char* value);

/** Role that this rank insists on; by default the session chooses. */
pillion_status pillion_options_set_role(pillion_options* options, pillion_role role);

/** YAML text with `meshes:`, `fields:` and `scalars:` that the program offers of its own accord, so
 * that its users need not repeat them. Entries of the user's file win. */
pillion_status pillion_options_set_catalogue(pillion_options* options, const char* yaml);

/** Puts another value in the place of what the YAML file says: `key` is where, such as "output" or
 * "sidecars.when_full", `value` is YAML, and "null" takes the entry out. Parameters are set with
 * pillion_options_set. What is wrong with it is an error of opening. */
pillion_status pillion_options_override(pillion_options* options, const char* key,
                                        const char* value);

/** Directory of a checkpoint to resume from; overrides `restart` of the YAML file. */
pillion_status pillion_options_set_restart(pillion_options* options, const char* path);

/** Opens the session in two phases, on all ranks: opening only chooses the sidecars and gives the
 * communicator of the simulation. The program then reads its inputs with that, and calls
 * pillion_configure. For programs that learn parameters and catalogue only so. */
pillion_status pillion_options_set_deferred(pillion_options* options);

/** Who receives log messages. By default warnings and errors go to standard error. NULL is silence.
 */
pillion_status pillion_options_set_log(pillion_options* options, pillion_log_handler handler,
                                       void* context);

/* ---- a session ------------------------------------------------------------------------------ */

/** Opens a session from a YAML file. [collective over comm] Every rank of `comm` gets the same
 * status; on failure *session is NULL. */
pillion_status pillion_open(const char* file, MPI_Comm comm, pillion_session** session);
pillion_status pillion_open_with(const char* file, MPI_Comm comm, const pillion_options* options,
                                 pillion_session** session);
/** The same for a Fortran communicator handle. */
pillion_status pillion_open_fortran(const char* file, MPI_Fint comm, pillion_session** session);
pillion_status pillion_open_with_fortran(const char* file, MPI_Fint comm,
                                         const pillion_options* options, pillion_session** session);

/** The second phase of a session whose options were set deferred, on simulation ranks. The value of
 * `$name` in the YAML file, and a catalogue as in pillion_options_set_catalogue, in the place of
 * that. Both fail with PILLION_ERROR_STATE once the session has its configuration, and must be the
 * same on every simulation rank. `sidecars:` of the file cannot depend on such a parameter. */
pillion_status pillion_set_parameter(pillion_session* session, const char* name, const char* value);
pillion_status pillion_offer_catalogue(pillion_session* session, const char* yaml);

/** Completes the opening. [collective over the simulation ranks] Every rank gets the same status.
 * After a failure the session can only be closed. pillion_ready and the first pillion_step call it
 * if the program did not. All other calls that need the catalogue fail before. Does nothing if the
 * session has its configuration. */
pillion_status pillion_configure(pillion_session* session);

/** On a sidecar rank: works until the simulation closes its session, closes this rank's session,
 * and returns 1. On a simulation rank: returns 0 at once. */
int32_t pillion_serve(pillion_session* session);

/** Communicator of the simulation ranks, which the program may use until MPI_Finalize, also after
 * the session has closed. Pillion frees it then. A session that opens later on the same ranks may
 * have the same one. MPI_COMM_NULL on a sidecar. */
MPI_Comm pillion_communicator(const pillion_session* session);
MPI_Fint pillion_communicator_fortran(const pillion_session* session);

/** How many fields the catalogue has, and what the file says of one of them; `number` counts from
 * 0. For simulation ranks that do not know, or need not prepare, every field. */
pillion_status pillion_count_fields(const pillion_session* session, int32_t* count);
pillion_status pillion_get_field(const pillion_session* session, int32_t number,
                                 pillion_field* field);

/** How many scalars the catalogue has, and the name of one of them; `number` counts from 0. The
 * name is the session's. For adapters that set every scalar which the file declares. */
pillion_status pillion_count_scalars(const pillion_session* session, int32_t* count);
pillion_status pillion_get_scalar_name(const pillion_session* session, int32_t number,
                                       const char** name);

/* ---- sharing -------------------------------------------------------------------------------- */
/* Sharing copies nothing: the memory must stay valid until the block is shared again, unshared, or
 * the session closes. What does not fit the catalogue is noted, and reported on every
 * rank by pillion_ready or, without it, the first pillion_step. */

/** Shares a box of a field on a uniform mesh. `lo`, `hi`: half-open index range, one entry per axis
 * of the mesh. The first axis varies fastest, components are interleaved. `type` may be 0 if the
 * caller does not know better than the catalogue. */
pillion_status pillion_share_box_typed(pillion_session* session, const char* field, int32_t block,
                                       const int64_t* lo, const int64_t* hi, const void* data,
                                       pillion_type type);

/** As above for any arrangement: `strides[a]` is the distance in elements from one index to the
 * next along axis a, `strides[axes]` that from one component to the next. */
pillion_status pillion_share_box_strided(pillion_session* session, const char* field, int32_t block,
                                         const int64_t* lo, const int64_t* hi, const void* data,
                                         pillion_type type, const int64_t* strides);

/** As above for an array that knows its shape, with as many `axes` as `lo` and `hi` have entries.
 * The array has a dimension for each axis, and one for components before or after them, as
 * `components` says. That one may be missing if there is one component. Or the array has one
 * dimension, in which all values lie in that order. An array that does not suit the box is a fault
 * like any other. */
pillion_status pillion_share_box_view(pillion_session* session, const char* field, int32_t block,
                                      int32_t axes, const int64_t* lo, const int64_t* hi,
                                      const pillion_view* view, pillion_components components);

/** The same on a mesh with levels of refinement, which `meshes: {NAME: {levels: ...}}` declares: a
 * box in cells of `level`, 0 being the coarsest. Boxes of a level do not overlap, those of a finer
 * level lie within boxes of the level before, and begin and end where cells of it do. Pillion finds
 * out which cells finer boxes cover. `strides` may be NULL: the first axis varies fastest,
 * components are interleaved. */
pillion_status pillion_share_box_level(pillion_session* session, const char* field, int32_t level,
                                       int32_t block, const int64_t* lo, const int64_t* hi,
                                       const void* data, pillion_type type, const int64_t* strides);
pillion_status pillion_share_box_level_view(pillion_session* session, const char* field,
                                            int32_t level, int32_t block, int32_t axes,
                                            const int64_t* lo, const int64_t* hi,
                                            const pillion_view* view,
                                            pillion_components components);

/** As pillion_share_box_typed, on a level, for an array with ghost cells around the box:
 * `ghosts[a]` at both ends of axis a. `data` is the first element of the array, ghost cells
 * included; `lo` and `hi` are those of its inner cells. Ghost cells are not published. */
pillion_status pillion_share_box_ghosts(pillion_session* session, const char* field, int32_t level,
                                        int32_t block, const int64_t* lo, const int64_t* hi,
                                        const int64_t* ghosts, const void* data, pillion_type type);
pillion_status pillion_share_box_ghosts_view(pillion_session* session, const char* field,
                                             int32_t level, int32_t block, int32_t axes,
                                             const int64_t* lo, const int64_t* hi,
                                             const int64_t* ghosts, const pillion_view* view,
                                             pillion_components components);

/** Block number for blocks that Pillion is to number, from 0 on since pillion_begin_blocks. */
#define PILLION_ANY_BLOCK (-1)

/** From here to pillion_end_blocks the program shares all blocks of a field again, as after a
 * regridding. The end takes back every block that was not shared since, and the memory that
 * pillion_allocate gave for it. Between the two, a block may have the number PILLION_ANY_BLOCK. */
pillion_status pillion_begin_blocks(pillion_session* session, const char* field);
pillion_status pillion_end_blocks(pillion_session* session, const char* field);

/** Shares `count` particles' values of a field; components are interleaved. All fields of one mesh
 * that share a block number must have the same count when a step is offered. */
pillion_status pillion_share_particles_typed(pillion_session* session, const char* field,
                                             int32_t block, int64_t count, const void* data,
                                             pillion_type type);

/** As above for an array that knows its shape: a dimension for particles (the first `count` are
 * shared), and one for components before or after it; or one dimension for all values.
 */
pillion_status pillion_share_particles_view(pillion_session* session, const char* field,
                                            int32_t block, int64_t count, const pillion_view* view,
                                            pillion_components components);

/** Shares a field of `count` elements of a spectral mesh. With n = order + 1, a field at points is
 * data[e][c][k][j][i] in C, and data(i, j, k, c, e) in Fortran. The n^3 values of a component of an
 * element are together, the first reference axis fastest. The next component follows, then the next
 * element. Elements of two dimensions have n^2 points, and no k. A field
 * centred on elements has data[e][c]. As with particles, all fields of one mesh must have the same
 * count in a block. */
pillion_status pillion_share_elements_typed(pillion_session* session, const char* field,
                                            int32_t block, int64_t count, const void* data,
                                            pillion_type type);

/** As above for an array that knows its shape. Shapes are those of C, with e for elements, c for
 * components and p for the points of an element. A field at points is `[e][c][k][j][i]` or
 * `[e][c][p]`, and one centred on elements `[e][c]`. With one component, [c] may be missing. `[n]`
 * is all values in that order. The first `count` elements are shared. */
pillion_status pillion_share_elements_view(pillion_session* session, const char* field,
                                           int32_t block, int64_t count, const pillion_view* view);

/** Shares the points of a block of an unstructured mesh. They are copied. Share them
 * again when they move, before the step. */
pillion_status pillion_share_points(pillion_session* session, const char* mesh, int32_t block,
                                    const pillion_points* points);

/** Shares the cells of a block of an unstructured mesh. They are copied. A publication moves them
 * only after they have changed. */
pillion_status pillion_share_cells(pillion_session* session, const char* mesh, int32_t block,
                                   const pillion_cells* cells);

/** Shares a field's values at the `count` cells or points of a block of an unstructured mesh, as
 * its centering says; components are interleaved. */
pillion_status pillion_share_values_typed(pillion_session* session, const char* field,
                                          int32_t block, int64_t count, const void* data,
                                          pillion_type type);

/** As above for an array that knows its shape, like that of pillion_share_particles_view. */
pillion_status pillion_share_values_view(pillion_session* session, const char* field, int32_t block,
                                         int64_t count, const pillion_view* view,
                                         pillion_components components);

/** A field whose components lie in arrays of their own, such as vx, vy and vz, with the
 * same strides in all of them. */
typedef struct pillion_arrays {
  size_t size;             /**< sizeof(pillion_arrays), set by the program */
  const void* const* data; /**< of each component, where its first value is */
  pillion_type type;       /**< may be 0, as in the functions above */
  int32_t components;      /**< arrays in `data`, as many as the field has components */
  const int64_t* strides;  /**< in elements, within each array; NULL if arrays are packed. Of a box:
                            * from one index to the next along each axis. Of particles, cells and
                            * points: from one to the next. Of elements: from one to the next, and,
                            * if the field is at points, from one point to the next */
} pillion_arrays;

/** Shares a box of a field as one array for each component. `level` is 0 on meshes without levels
 * of refinement. Copies nothing, like all functions here. Stages in the simulation that read the
 * field as it is shared get a copy in one array, unless the arrays are evenly apart. */
pillion_status pillion_share_box_components(pillion_session* session, const char* field,
                                            int32_t level, int32_t block, const int64_t* lo,
                                            const int64_t* hi, const pillion_arrays* arrays);

/** The same for `count` particles, or elements of a spectral mesh, or cells or points of an
 * unstructured mesh. */
pillion_status pillion_share_components(pillion_session* session, const char* field, int32_t block,
                                        int64_t count, const pillion_arrays* arrays);

/** The same for arrays that know their shape: `views` are those of `components` arrays, each like
 * that of a field of one component. They must have the same strides. */
pillion_status pillion_share_box_components_view(pillion_session* session, const char* field,
                                                 int32_t level, int32_t block, int32_t axes,
                                                 const int64_t* lo, const int64_t* hi,
                                                 int32_t components, const pillion_view* views);
pillion_status pillion_share_components_view(pillion_session* session, const char* field,
                                             int32_t block, int64_t count, int32_t components,
                                             const pillion_view* views);

/** Memory for a block's values that sidecars on this node can read in place, so that publishing it
 * copies nothing. There are `buffers` of them, 2 or 3, each of `bytes` bytes; *data is the first.
 * Share it as any other memory. Between publishing and writing new values call pillion_swap: it
 * gives the buffer to write to next, and shares it instead. The memory is the session's; it is gone
 * with pillion_unshare or when the session closes. It is ordinary memory, which is copied, where no
 * sidecar shares memory with this rank and where shared memory has no room. */
pillion_status pillion_allocate(pillion_session* session, const char* field, int32_t block,
                                size_t bytes, int32_t buffers, void** data);

/** The next buffer of a block, another one than before, which no sidecar reads; never waits. *data
 * becomes its address; its values are those of some earlier step. */
pillion_status pillion_swap(pillion_session* session, const char* field, int32_t block,
                            void** data);

/** Keeps a buffer of pillion_allocate where it is, beyond pillion_unshare and the session, until
 * pillion_release: for languages in which references to it cannot be tracked. */
typedef struct pillion_kept pillion_kept;
pillion_status pillion_keep(const pillion_session* session, const void* data, pillion_kept** kept);
void pillion_release(pillion_kept* kept);

/** Takes a block of a field back, and the memory that pillion_allocate gave for it. */
pillion_status pillion_unshare(pillion_session* session, const char* field, int32_t block);

/** The domain of a particle mesh as of now; it may change every step. The same on every rank. */
pillion_status pillion_set_domain(pillion_session* session, const char* mesh,
                                  const pillion_domain* domain);

/** Coordinates of the faces of a rectilinear mesh along one axis, counted from 0, as of now: one
 * more than cells, ascending. They are copied. The same on every rank. For meshes whose `cells` the
 * configuration gives without coordinates. */
pillion_status pillion_set_coordinates(pillion_session* session, const char* mesh, int32_t axis,
                                       int64_t count, const double* values);

/** A scalar of the catalogue as of now, such as the scale factor or the time step. It keeps its
 * value until it is set again, and goes with every publication. The same on every rank. A name that
 * the catalogue lacks is a fault as in sharing until the first step, and a warning later. */
pillion_status pillion_set_scalar(pillion_session* session, const char* name, double value);

/** Units of a field, of a mesh's lengths, of a scalar, or of "time", for programs that know them
 * only at run time. The same on every rank. */
pillion_status pillion_set_units(pillion_session* session, const char* name, const char* units);

/** Checks that everything which analyses need is shared and fits. Optional: the first step does it
 * otherwise. [collective over the simulation ranks] Every rank gets the same status. */
pillion_status pillion_ready(pillion_session* session);

/* ---- stepping ------------------------------------------------------------------------------- */

/** Whether the step would do anything, so that a program may prepare what it shares only then.
 * *due becomes 1 or 0. Takes no message and no lock. */
pillion_status pillion_is_due(const pillion_session* session, int64_t step, double time,
                              int32_t* due);

/** Offers a step. [called by every simulation rank] Runs or publishes what is due and returns at
 * once if nothing is.
 *
 * The first step fails if pillion_ready would. After that a step never fails because of something
 * inside Pillion: it is logged and reported, and the analyses that it affects are disabled. It
 * fails with PILLION_ERROR_STATE on every rank if ranks do not make the same calls, or offer
 * different steps or times.
 *
 * A step that was offered last, or earlier in the run that this one resumes, is ignored. A counter
 * that goes back begins a new segment of the run. Products, conditions and the report then number
 * its steps after the segment before, and the report gives the number that was added. The
 * steps of a program that restarts its counter continue those of the checkpoint. */
pillion_status pillion_step(pillion_session* session, int64_t step, double time);

/** Saves the state of stages in the directory `path`, whole or not at all. A relative path is that
 * of the working directory at this call.
 * [collective over the simulation ranks] Returns when it is on disk. */
pillion_status pillion_checkpoint(pillion_session* session, const char* path);

/** How the run is doing. */
pillion_status pillion_get_progress(const pillion_session* session, pillion_progress* progress);

/** Absolute path of the run report, valid until the session closes. */
const char* pillion_report_path(const pillion_session* session);

/** Ends the session: waits until sidecars have finished, writes the last products, the timeline and
 * the report. [collective over the simulation ranks] NULL is allowed. Closing a session twice is an
 * error. */
pillion_status pillion_close(pillion_session* session);

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

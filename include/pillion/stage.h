/* SPDX-License-Identifier: BSD-3-Clause */
/* The binary interface between Pillion and a stage plug-in, in C. Authors who write C++ use the
 * comfortable face of it, stage.hpp.
 *
 * A plug-in is a shared object that exports one function, `pillion_stage_describe`, which returns a
 * constant table. The loader checks abi_version and sizes before it reads anything else. A plug-in
 * links nothing of Pillion: it reaches the host through the table that `create` is given. It names
 * the layout it needs, and leaves messages between ranks to the host.
 *
 * Structs that either side makes for the other begin with their size, and later versions only
 * append to them. The loader refuses a plug-in that was built with larger structs than the host
 * has. The host refuses a struct of a plug-in that is smaller than in the first version, or larger
 * than it knows with something in the rest. The host sets every member of a struct that it makes.
 *
 * Functions return a status of pillion.h (0 is success). A plug-in reports a failure with
 * host->fail(...) and returns the status it got from it; a failed host call has said why already.
 * All pointers that the host hands out live until the callback returns. */
#ifndef PILLION_STAGE_H
#define PILLION_STAGE_H

#include <pillion/stage/requests.h>
#include <pillion/types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PILLION_STAGE_ABI_VERSION 2u

typedef struct pillion_value pillion_value; /* a node of the stage's configuration */
typedef struct pillion_setup pillion_setup; /* a stage being created */
typedef struct pillion_work pillion_work;   /* a publication being worked on */
typedef struct pillion_state pillion_state; /* the state of a stage, being saved or restored */

/** Kinds of configuration value. */
enum {
  PILLION_VALUE_NULL = 0,
  PILLION_VALUE_SCALAR = 1,
  PILLION_VALUE_LIST = 2,
  PILLION_VALUE_MAP = 3
};

/** Reductions over the peers. */
enum { PILLION_SUM = 1, PILLION_MIN = 2, PILLION_MAX = 3 };

/** One parameter of a stage, for checking, help and documentation. */
typedef struct pillion_parameter {
  const char* name;
  const char* kind;     /**< for people: "integer", "length", "list of fields" … */
  const char* standard; /**< the default as YAML; NULL if the parameter is required */
  const char* meaning;
} pillion_parameter;

/** What `describe` can describe. */
enum { PILLION_DESCRIBE_FIELD = 1, PILLION_DESCRIBE_MESH = 2 };

/** A field and the mesh that it lives on, or a mesh alone: then the name is empty, and the units
 * are those of the mesh's lengths. */
typedef struct pillion_field_description {
  size_t size; /**< sizeof(pillion_field_description), set by the plug-in */
  const char* name;
  const char* mesh;
  const char* units;
  pillion_type type;
  int32_t components;
  pillion_mesh_kind mesh_kind;
  int32_t axes; /**< of a uniform or rectilinear mesh: 1 to 3; of particles: 2 if so configured; of
                 * a spectral mesh: of its elements, 2 or 3 */
  int64_t cells[3]; /**< of a uniform or rectilinear mesh */
  double origin[3];
  double length[3]; /**< 0 of a rectilinear mesh whose program sets coordinates */
  int32_t periodic[3];
  pillion_metric metric;
  int32_t order;               /**< of a spectral mesh: order + 1 points along each axis */
  pillion_centering centering; /**< of a field */
  const char* coordinates; /**< of a spectral mesh: the field of 3 components that holds them, of
                            * its points; "" if it was not said */
  int32_t levels;          /**< of refinement of a uniform mesh, whose cells are those of level 0 */
  int32_t is_partial;      /**< 1 if some cells of a mesh of boxes may not exist: no block has them,
                            * or they are flagged PILLION_CELL_HIDDEN */
  const char* mask;        /**< the integer field that is 0 where cells do not exist, or "" */
  const char* weight; /**< the real field that holds the part of its volume that a cell has, or "":
                       * blocks have it as `weight` */
  int32_t points; /**< of a field at points of spectral elements: along each axis; of others 0 */
  pillion_quadrature quadrature; /**< whose points these are */
  const char* point_set;         /**< their name, if they are not those of the mesh; else NULL */
  uint32_t point_axes;           /**< of a field of a mesh of boxes, as pillion_array has them */
  const char* const* patches;    /**< names of the parts of an unstructured mesh's boundary */
  int32_t patch_count;
} pillion_field_description;

/** Half-open range of cells; [0, 1) along axes that a mesh lacks. */
typedef struct pillion_box {
  int64_t lo[3];
  int64_t hi[3];
} pillion_box;

/** Memory that several processes or devices reach: which region, where in it in bytes, and how
 * often the region has been given away. `generation` is 0 if the memory is the stage's process's
 * alone, which it always is today. */
typedef struct pillion_lease {
  uint64_t region;
  uint64_t offset;
  uint64_t generation;
} pillion_lease;

/** Values of one field in one block. Element (i, j, k) of component c is
 * i*strides[0] + j*strides[1] + k*strides[2] + c*strides[3] bytes behind `data`; particles use i.
 * So do cells or points of unstructured meshes.
 * So does a spectral mesh, of whose elements i counts. For a field at its n^3 points, n = order +
 * 1, `components` is n^3 times that of the description. Point p = a + n*(b + n*d), where a counts
 * along the first reference axis. Its component c is i*strides[0] + (c*n^3 + p)*strides[3] bytes
 * behind `data`. Elements of two dimensions have n^2 points. Today `data` is always set: the host
 * copies components that lie in arrays of their own, unless strides can describe them. Memory is
 * the host's, and strides are multiples of the element's size. */
typedef struct pillion_array {
  size_t size;                       /**< sizeof(pillion_array) of the host */
  const void* data;                  /**< NULL if each component has a place of its own, */
  const void* const* component_data; /**< which is then here, and strides[3] means nothing */
  pillion_type type;
  int32_t components;
  int64_t strides[4]; /**< in bytes */
  pillion_centering centering;
  uint32_t point_axes; /**< of a box: bit d is set if values lie at points along axis d: no bit for
                        * cells, all for points, one for faces, all but one for edges */
  pillion_memory_space memory_space;
  int32_t device;    /**< whose the memory is, if any's; otherwise -1 */
  void* ready_event; /**< of the device: wait for it before reading; NULL if values are there */
  pillion_lease lease;
} pillion_array;

/** Numbers of cells or points: owned by this rank, and all of the block. */
typedef struct pillion_count {
  int64_t owned;
  int64_t total;
} pillion_count;

/** Bits of a block's `flags`, as VTK has them. */
enum {
  PILLION_CELL_DUPLICATE = 1, /**< another block owns the cell */
  PILLION_CELL_REFINED = 8,   /**< blocks of a finer level cover it */
  PILLION_CELL_HIDDEN = 32    /**< it is not a part of the mesh */
};

/** Cells of a block of an unstructured mesh, after VTK's model. The points of cell c are
 * points[offsets[c]] to points[offsets[c + 1] - 1], in the order that VTK's type has. Points are
 * counted from 0 in the block. A polyhedron lists each of its points once, and has faces besides:
 * polyhedron_faces[polyhedron_offsets[c]] to polyhedron_faces[polyhedron_offsets[c + 1] - 1].
 * Face f has the points face_points[face_offsets[f]] to face_points[face_offsets[f + 1] - 1], in
 * order around it. */
typedef struct pillion_connectivity {
  size_t size;            /**< sizeof(pillion_connectivity) of the host */
  const uint8_t* types;   /**< VTK's cell type of each cell */
  const int64_t* offsets; /**< one more than cells */
  const int64_t* points;
  int64_t face_count; /**< 0 if no cell is a polyhedron; then the next four are NULL */
  const int64_t* face_offsets;
  const int64_t* face_points;
  const int64_t* polyhedron_offsets; /**< one more than cells; other cells have no faces there */
  const int64_t* polyhedron_faces;
  const int64_t* point_ids; /**< of each point in the whole mesh; NULL if the program gave none */
  const int64_t* cell_ids;  /**< of each cell in the whole mesh; NULL if the program gave none */
  const int64_t* parents;   /**< of a boundary: the id of the cell of `of` that each cell bounds;
                             * NULL if the program gave none */
  const int32_t* patches;   /**< of each cell, an index into pillion_mesh.patches; NULL if the mesh
                             * names none */
} pillion_connectivity;

/** The part of an input that this rank holds in one piece.
 *
 * A block of a uniform mesh has the cells of the box `allocated`; those of `valid` are what this
 * rank has to work on, each cell once among all peers. The difference is ghost cells: then
 * `allocated` may reach below 0 or above the mesh where it is periodic, and cell i is cell i modulo
 * the mesh's cells. Without ghost cells the two are the same, except for an input `in_parts`. There
 * `allocated` is the box of a part, whose values stay where they were received, with any strides.
 * `valid` and `id` are those of the whole box, the same for all of its parts. All indices of a
 * coarse publication are coarse, see pillion_mesh. Layouts divide the coarse mesh; sides and ghosts
 * are counted in its cells. An axis that the factor does not divide is not periodic there.
 *
 * Of particles and spectral meshes both boxes are [0, total) along the first axis. The first
 * `owned` particles are this rank's, the rest are copies of others' (halo), shifted to their
 * nearest image. Each particle is a cell of one point.
 *
 * Of unstructured meshes both boxes are [0, total) of cells. A cell that another block owns is
 * flagged PILLION_CELL_DUPLICATE; those without a flag are `owned`, wherever they stand. All points
 * count as owned, so that one which blocks share is there in each.
 *
 * A point that blocks share is owned by the block that has the cell above it. */
typedef struct pillion_block {
  size_t size; /**< sizeof(pillion_block) of the host */
  int64_t id;  /**< no other block of the mesh has it in this layout. Its low 32 bits are the number
                * that the program gave the block, or, in layouts of Pillion's, the number among
                * this peer's blocks */
  pillion_box valid;
  pillion_box allocated;
  int32_t level;            /**< of refinement; 0 is the coarsest */
  int32_t array_count;      /**< as many as the input has fields */
  int64_t topology_version; /**< grows when cells change; 0 if it is not known when they do */
  int64_t geometry_version; /**< grows when coordinates change; 0 if it is not known */
  pillion_count cells;      /**< fields that are centred on cells have as many values */
  pillion_count points;
  const pillion_array* const* arrays; /**< in the order of the input's fields */
  const pillion_array* flags;         /**< uint8, of each cell; NULL if no cell has any */
  const pillion_array*
      weight; /**< real, of each cell: the part that counts; NULL if all do whole */
  const pillion_connectivity* connectivity; /**< NULL unless the mesh is unstructured */
  const pillion_array*
      coordinates; /**< float64, 3 components (0 along axes that the mesh lacks), of
                    * each point of an unstructured or curvilinear mesh; else NULL */
} pillion_block;

/** Points of a spectral mesh's elements; later versions define it, its size first. */
typedef struct pillion_point_set pillion_point_set;

/** A mesh as it is in a publication. A uniform mesh that was coarsened because sidecars could not
 * keep up (backlog policy `coarsen`) has the cells, origin and length of the coarse one. Its cell i
 * is cell i * coarsening of the mesh that `describe` describes. So does a rectilinear one; its
 * faces lie midway between the centres of these cells, the first and the last where the mesh ends.
 *
 * The metric defines what the axes of uniform and rectilinear meshes measure. Cylindrical: radius,
 * azimuth and height, or radius and height if there are two. Spherical: longitude, latitude and
 * height or radius. Angles are in degrees.
 *
 * One of `coarsening` particles was kept. Their domain begins at `origin` and ends at `end`. Its
 * edges are (end[0]-origin[0], 0, 0), (tilt[0], end[1]-origin[1], 0) and (tilt[1], tilt[2],
 * end[2]-origin[2]). */
typedef struct pillion_mesh {
  size_t size; /**< sizeof(pillion_mesh) of the host */
  const char* name;
  const char* units; /**< of lengths */
  pillion_mesh_kind kind;
  int32_t axes;       /**< of a uniform mesh 1 to 3, of particles and spectral meshes 2 or 3, of an
                       * unstructured mesh the dimensions of its cells: 1 to 3 */
  int32_t order;      /**< of a spectral mesh, else 0 */
  int32_t coarsening; /**< by how much each axis is coarser, or of how many particles one is there;
                       * 1 if the publication is whole */
  int32_t has_domain; /**< 0 if origin, length, end, tilt and periodic are not known */
  pillion_metric metric;
  int64_t cells[3]; /**< of a uniform mesh, of the coarsest level */
  double origin[3];
  double length[3];
  double end[3];         /**< the upper corner, as it was given */
  double tilt[3];        /**< (xy, xz, yz) */
  int32_t periodic[3];   /**< 1 where it is */
  int32_t levels;        /**< of refinement; 1 if there is one */
  const int32_t* ratios; /**< levels - 1 triples: by how much a level is finer along each axis than
                          * the one before; NULL if there is one level */
  const pillion_point_set* const* point_sets; /**< NULL if the mesh names none */
  int32_t point_set_count;
  int32_t is_partial; /**< 1 if some cells of a mesh of boxes may not exist: no block has them, or
                       * they are flagged PILLION_CELL_HIDDEN */
  const char* of;     /**< the mesh whose boundary an unstructured mesh is, or NULL */
  const double* coordinates[3]; /**< of a rectilinear mesh, by axis: cells + 1 coordinates of faces,
                                 * in ascending order; else NULL */
  double radius; /**< of a spherical mesh: that of the sphere, above which a third axis counts; 0 if
                  * that axis is the radius itself */
  const char* const* patches; /**< names of the parts of an unstructured mesh's boundary */
  int32_t patch_count;
} pillion_mesh;

/** What a column of a table holds. All but values and bounds of bins are about other columns. */
enum {
  PILLION_COLUMN_VALUE = 0, /**< a quantity by itself */
  PILLION_COLUMN_ERROR = 1, /**< the standard error of the column `of`, in its units */
  PILLION_COLUMN_LOWER = 2, /**< the lower end of an interval about the column `of` */
  PILLION_COLUMN_UPPER = 3, /**< the upper end of it */
  PILLION_COLUMN_COUNT = 4, /**< how many samples the column `of` comes from, or the whole row */
  PILLION_COLUMN_WEIGHT = 5 /**< the weight of the column `of`, or of the whole row */
};

/** A column of a table: exactly one of the two pointers is set. */
typedef struct pillion_column {
  size_t size; /**< sizeof(pillion_column), the same in all columns of a table */
  const char* name;
  const char* units;
  const double* reals;
  const int64_t* integers;
  int32_t role;   /**< one of PILLION_COLUMN_VALUE and so on */
  const char* of; /**< the name of the column that this one is about; NULL or "" if there is none */
} pillion_column;

typedef struct pillion_attribute {
  const char* name;
  const char* units; /**< "" if it has none */
  const char* text;  /**< NULL if it is a number */
  double value;
} pillion_attribute;

/** A table product. An attribute `not_finite`, or a column whose name begins so, counts values that
 * are not finite: the host warns of the first table of a name that has some. */
typedef struct pillion_table {
  size_t size; /**< sizeof(pillion_table) */
  const char* name;
  const char* title;
  int32_t per_step; /**< 1: one file per step; 0: one, replaced; 2: one, to which rows are added */
  int32_t column_count;
  int64_t rows;
  const pillion_column* columns;
  const pillion_attribute* attributes;
  int32_t attribute_count;
  int32_t in_parts; /**< 1: the rows of all peers, in their order, and every peer must make the
                     * call; 0: the first peer's table is the one that is written */
} pillion_table;

/** Records of a size that is the same on all peers, each with a key that no other has. */
typedef struct pillion_records {
  const int64_t* keys;
  int64_t count;
  const void* values; /**< one record behind the other */
  size_t record_size; /**< bytes */
} pillion_records;

/** Bytes for a peer, or from one. */
typedef struct pillion_message {
  int32_t peer;
  int32_t reserved;
  size_t size; /**< bytes */
  const void* bytes;
} pillion_message;

/** What the host offers. Later versions only append. A plug-in that needs more than `size` says
 * refuses to be created. */
typedef struct pillion_stage_host {
  uint32_t abi_version;
  uint32_t size;

  /* failures */
  int32_t (*fail)(int32_t code, const char* message);
  const char* (*failure)(void); /**< message of the last failure on this thread */

  /* configuration: nodes live as long as the stage */
  const pillion_value* (*parameters)(pillion_setup*);
  int32_t (*value_kind)(const pillion_value*);
  int64_t (*value_size)(const pillion_value*);
  const pillion_value* (*value_at)(const pillion_value*, int64_t index); /**< of a list or map */
  const char* (*value_key)(const pillion_value*, int64_t index);
  const pillion_value* (*value_find)(const pillion_value*, const char* key); /**< NULL if absent */
  const char* (*value_text)(const pillion_value*);
  const char* (*value_place)(const pillion_value*); /**< "file:line", for messages */

  /* setting up */
  /** What is known of a field (PILLION_DESCRIBE_FIELD) that the simulation shares or an earlier
   * stage produces, or of a mesh (PILLION_DESCRIBE_MESH). Fails at `place`, or, if that is NULL,
   * where the parameters name it. */
  int32_t (*describe)(pillion_setup*, int32_t what, const char* name, const pillion_value* place,
                      pillion_field_description* description);
  int32_t (*request_input)(pillion_setup*, const pillion_input_request* request, int32_t* input);
  int32_t (*declare_output)(pillion_setup*, const pillion_output* wanted, int32_t* output);
  /** Says that the stage cannot work on coarse publications (see pillion_mesh). While the stage
   * runs in sidecars, its analysis skips the publications that would be coarse. */
  int32_t (*require_whole)(pillion_setup*);
  /** Declares a product that the stage may write, by its name without a step: "NAME.csv" for a
   * table called NAME. So are names for write_text and write_file, and those of files and folders
   * of its own below product_folder. Fails if an earlier stage of the analysis declares
   * the same one, so that no run begins in which stages overwrite each other's products. */
  int32_t (*declare_product)(pillion_setup*, const char* name);
  /** Declares memory that the stage takes on each peer beside its inputs and outputs, which the
   * host knows: `per_input_byte` for each byte of its inputs on that peer, plus `bytes`. `pillion
   * check` adds it to what a node needs. Later calls add to earlier ones. Fails for negative
   * values. */
  int32_t (*declare_memory)(pillion_setup*, double per_input_byte, int64_t bytes);

  /* working */
  int64_t (*step)(const pillion_work*);
  double (*time)(const pillion_work*);
  int64_t (*publication)(const pillion_work*); /**< how many this analysis has worked on before */
  double (*interval)(const pillion_work*); /**< of the schedule, in time; 0 if it counts steps */
  int32_t (*products_due)(const pillion_work*);
  const char* (*units)(const pillion_work*,
                       const char* name); /**< of a field, a mesh, a scalar or "time" */
  const pillion_mesh* (*mesh)(pillion_work*, const char* name); /**< NULL on failure */
  int32_t (*block_count)(const pillion_work*, int32_t input);
  const pillion_block* (*block)(const pillion_work*, int32_t input, int32_t index);
  /** Memory for an output on one block of an input, packed with the first axis fastest. */
  int32_t (*produce)(pillion_work*, int32_t output, int32_t input, int32_t index, void** data);
  /** The same for an output on boxes of a mesh. No cell may be in two boxes of any peers. */
  int32_t (*produce_box)(pillion_work*, int32_t output, const int64_t* lo, const int64_t* hi,
                         void** data);
  /** The part of the domain that is this peer's in a SPATIAL input, from lo to hi in units of the
   * domain's edges. A particle is owned by the peer in whose part it lies. */
  int32_t (*spatial_part)(const pillion_work*, int32_t input, double* lo, double* hi);
  /** The part of a division that this peer has; lo and hi are 0 if it has none. */
  int32_t (*part)(const pillion_work*, const pillion_division* division, int64_t* lo, int64_t* hi);

  /* products */
  /** Writes a table whole or not at all. If it is `in_parts`, no peer needs to have all rows: each
   * writes its own, so the folder of products must be the same on all nodes. */
  int32_t (*write_table)(pillion_work*, const pillion_table* table);
  /** The folder of the analysis's products, for stages that write files of their own; it is there
   * on return. The text lives until the callback returns. */
  int32_t (*product_folder)(pillion_work*, const char** path);
  /** Writes a product that is a text whole or not at all, and waits until it is on disk if it must
   * be `durable`; the first peer's is the one that counts. Lines about where it comes from are put
   * in front, each behind `comment`, or none if that is NULL. It may stand for a dataset of several
   * files, which are then all named by it. */
  int32_t (*write_text)(pillion_work*, const char* name, const char* title, const char* comment,
                        const char* text, int32_t durable);
  /** Where a product of the stage's own comes from, as a YAML document for it to hold. The text
   * lives until the next such call, or until the callback returns. */
  int32_t (*origin)(pillion_work*, const char* name, const char* title, const char** text);
  /** Writes a product that is bytes as they are, a picture for example, whole or not at all; the
   * first peer's is the one that counts. If `per_step`, there is one for each step, whose number
   * stands before the ending of the name. */
  int32_t (*write_file)(pillion_work*, const char* name, const char* title, const void* bytes,
                        size_t size, int32_t per_step);

  /* Peers: the ranks that run this stage. Every one of them must make the calls from `reduce` to
   * `withhold`. A peer that has failed before such a call makes it fail on all of them. */
  int32_t (*peer)(const pillion_work*);
  int32_t (*peers)(const pillion_work*);
  int32_t (*reduce)(pillion_work*, void* values, int64_t count, pillion_type type,
                    int32_t operation);
  /** The peers as a communicator, for libraries that take one: its Fortran handle, which
   * MPI_Comm_f2c converts. A peer that fails while others are in a call on it hangs them, so prefer
   * the functions below. */
  int32_t (*communicator)(const pillion_work*);
  /** Sends bytes to some peers, at most one message to each, and receives the messages that others
   * have sent here, in ascending order of peers. The cost grows with the number of messages, not of
   * peers. Empty messages are not sent. What `in` points to lives until the next such call, gather
   * or broadcast, or until the callback returns. */
  int32_t (*exchange)(pillion_work*, const pillion_message* out, int32_t out_count,
                      const pillion_message** in, int32_t* in_count);
  /** Brings the bytes of all peers to one of them, which gets a message from each, in their order;
   * the others get none. They live as those of `exchange`. */
  int32_t (*gather)(pillion_work*, int32_t to, const void* bytes, size_t size,
                    const pillion_message** in, int32_t* in_count);
  /** Brings the bytes of one peer to all, itself included; what the others pass is not read. They
   * live as those of `exchange`. */
  int32_t (*broadcast)(pillion_work*, int32_t from, const void* bytes, size_t size,
                       const void** received, size_t* received_size);
  /** Calls `body` on every peer, on at most `at_once` of them at the same time: a peer begins when
   * the one `at_once` before it has ended. With 0 all begin at once, and none waits for another.
   * `body` must not call what every peer must call. Returns what `body` has returned. */
  int32_t (*in_turn)(pillion_work*, int32_t at_once, int32_t (*body)(void* argument),
                     void* argument);
  /** Moves what the stage has computed from one division of some cells to another: a number of
   * bytes for each cell, packed with the first axis fastest. Every peer must make the call. */
  int32_t (*regroup)(pillion_work*, const pillion_division* from, const pillion_division* to,
                     int64_t bytes_per_cell, const void* source, void* target);
  /** Brings records from the peers that have them to the peers that request them, in the order of
   * `wanted`, a record behind the other. Fails if no peer has one. Every peer must make the call.
   */
  int32_t (*fetch)(pillion_work*, const pillion_records* have, const int64_t* wanted, int64_t count,
                   void* records);
  /** Keeps this publication from the stages after this one: they do not run, no output needs to be
   * produced, and nothing crosses to sidecars. Every peer must make the call, or none. */
  int32_t (*withhold)(pillion_work*);

  /* state: `global` values are the same on every peer; `keyed` records belong to the owner of the
   * key
   */
  int32_t (*save_global)(pillion_state*, const char* name, const void* bytes, size_t size);
  int32_t (*save_keyed)(pillion_state*, const char* name, const int64_t* keys, int64_t count,
                        const void* records, size_t record_size);
  int32_t (*load_global)(pillion_state*, const char* name, const void** bytes, size_t* size);
  int32_t (*load_keyed)(pillion_state*, const char* name, const int64_t** keys, int64_t* count,
                        const void** records, size_t record_size);

  /* scalars: numbers that the simulation sets for each step */
  int32_t (*scalar_count)(const pillion_work*);
  const char* (*scalar_name)(const pillion_work*, int32_t number); /**< counted from 0 */
  /** The value as of this publication; not a number if the simulation has never set it. Fails if
   * there is no such scalar. Tables get them without the stage: as attributes of those of one step,
   * and as columns of those over time that have a column `step`. */
  int32_t (*scalar)(const pillion_work*, const char* name, double* value);

  /* setting up, continued */
  /** Says that the stage may end the processes that it runs in, as a library that aborts may. Fails
   * unless these belong to a job that has no rank of the simulation: sidecars with `job: separate`,
   * or an attached job. The failure names `place`, or if that is NULL the stage. */
  int32_t (*require_separate_job)(pillion_setup*, const pillion_value* place);
  /** Says that a publication at which `run` fails, on any peer, leaves what the stage keeps from
   * one publication to the next as it was on every peer. The analysis then loses that publication
   * alone, and is disabled after several failures in a row (`disable_after`). Without this the
   * first failure of a stage that saves anything disables its analysis. */
  int32_t (*declare_recoverable)(pillion_setup*);

  /* working, continued */
  /** Warns of something about this publication that users must know, in the log and the report:
   * once for each `topic` of the stage. The first peer's call counts. */
  int32_t (*warn)(pillion_work*, const char* topic, const char* message);
  /** As `fetch`, but some records may be missing: `found` says of each of `wanted` whether a peer
   * has it, as 1 or 0. Records that none has are left as they are. Every peer must make the call.
   */
  int32_t (*fetch_known)(pillion_work*, const pillion_records* have, const int64_t* wanted,
                         int64_t count, void* records, uint8_t* found);
} pillion_stage_host;

/** The sizes of the structs that a plug-in was built with. The loader compares them with its own,
 * so that neither side reads behind the end of what the other has made. */
typedef struct pillion_stage_sizes {
  size_t size; /**< sizeof(pillion_stage_sizes) */
  size_t host;
  size_t field_description;
  size_t input_request;
  size_t output;
  size_t array;
  size_t block;
  size_t mesh;
  size_t table;
} pillion_stage_sizes;

/** The sizes of this header. */
#define PILLION_STAGE_SIZES                                                                     \
  {                                                                                             \
    sizeof(pillion_stage_sizes), sizeof(pillion_stage_host), sizeof(pillion_field_description), \
        sizeof(pillion_input_request), sizeof(pillion_output), sizeof(pillion_array),           \
        sizeof(pillion_block), sizeof(pillion_mesh), sizeof(pillion_table)                      \
  }

/** What a plug-in is. */
typedef struct pillion_stage_table {
  uint32_t abi_version; /**< PILLION_STAGE_ABI_VERSION */
  uint32_t size;        /**< sizeof(pillion_stage_table) */
  const pillion_stage_sizes* sizes;
  const char* name;    /**< as in YAML */
  const char* summary; /**< one sentence */
  const pillion_parameter* parameters;
  int32_t parameter_count;
  int32_t reserved;

  int32_t (*create)(const pillion_stage_host* host, pillion_setup* setup, void** stage);
  int32_t (*run)(void* stage, pillion_work* work);
  int32_t (*finish)(void* stage, pillion_work* work); /**< after the last run: no inputs */
  int32_t (*save)(void* stage, pillion_state* state);
  int32_t (*restore)(void* stage, pillion_state* state); /**< before the first run */
  void (*destroy)(void* stage);
} pillion_stage_table;

/** The one symbol of a plug-in. */
const pillion_stage_table* pillion_stage_describe(void);
typedef const pillion_stage_table* (*pillion_stage_describe_function)(void);

#ifdef __cplusplus
}
#endif
#endif

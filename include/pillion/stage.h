/* SPDX-License-Identifier: BSD-3-Clause */
/* The binary interface between Pillion and a stage plug-in, in C. Authors who write C++ use the
 * comfortable face of it, stage.hpp.
 *
 * A plug-in is a shared object that exports one function, `pillion_stage_describe`, which returns a
 * constant table. The loader checks abi_version and size before it reads anything else. A plug-in
 * links nothing of Pillion: it reaches the host through the table that `create` is given, and never
 * moves data between ranks by itself, but names the layout it needs.
 *
 * Functions return a status of pillion.h (0 is success). A plug-in reports a failure with
 * host->fail(...) and returns the status it got from it; a failed host call has said why already.
 * All pointers that the host hands out live until the callback returns. */
#ifndef PILLION_STAGE_H
#define PILLION_STAGE_H

#include <mpi.h>
#include <pillion/types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PILLION_STAGE_ABI_VERSION 1u

typedef struct pillion_value pillion_value; /* a node of the stage's configuration */
typedef struct pillion_setup pillion_setup; /* a stage being created */
typedef struct pillion_work pillion_work;   /* a publication being worked on */
typedef struct pillion_state pillion_state; /* what a stage remembers, being saved or restored */

/** Which rank holds what. Those from BLOCKS on are for uniform meshes. They may be grown by ghost
 * cells; without these, each cell of the mesh is in one block of one peer, and a peer may have no
 * block if there are few cells. The arrays of their blocks are contiguous, components interleaved,
 * first axis fastest. */
enum {
  PILLION_LAYOUT_AS_SHARED = 1, /**< blocks as the simulation shares them */
  PILLION_LAYOUT_BY_KEY = 2,    /**< a particle, or an element of a spectral mesh, is always at the
                                   owner of its key, sorted by key */
  PILLION_LAYOUT_SPATIAL = 3,   /**< by place, with copies of all that lies within `halo` */
  PILLION_LAYOUT_BLOCKS = 4,    /**< one block per peer, as near to cubes as can be */
  PILLION_LAYOUT_SLABS = 5,     /**< one per peer, cut along `axis` alone */
  PILLION_LAYOUT_PENCILS = 6,   /**< one per peer, whole along `axis`, cut along the others */
  PILLION_LAYOUT_POWERS_OF_TWO = 7, /**< any number per peer; see `sides` */
  PILLION_LAYOUT_TRANSFORM = 8      /**< slabs along the third axis; where the mesh has fewer planes
                                       than there are peers, pencils along the first */
};

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

typedef struct pillion_field_description {
  const char* name;
  const char* mesh;
  const char* units;
  pillion_type type;
  int32_t components;
  pillion_mesh_kind mesh_kind;
  int32_t axes;     /**< of a uniform mesh: 1 to 3; of particles: 2 if the configuration says so */
  int64_t cells[3]; /**< of a uniform mesh */
  double origin[3]; /**< of a uniform mesh */
  double length[3]; /**< of a uniform mesh */
  int32_t periodic[3];
  int32_t reserved;

  /* known to `describe` of the host, and not to describe_field and describe_mesh */
  int32_t order;               /**< of a spectral mesh: order + 1 points along each axis */
  pillion_centering centering; /**< of a field on a spectral mesh */
  const char* coordinates; /**< of a spectral mesh: the field of 3 components that holds them, of
                            * its points; "" if it was not said */
} pillion_field_description;

/** Sides of boxes that follow from the blocks as they are shared: along this axis, or, for cubes,
 * along any. */
typedef enum {
  PILLION_SIDE_FIT = -1,          /**< the smallest power of two that holds the longest of them */
  PILLION_SIDE_ENLARGED = -2,     /**< twice as many cells */
  PILLION_SIDE_FIT_CUBE = -3,     /**< as FIT; the same along all axes */
  PILLION_SIDE_ENLARGED_CUBE = -4 /**< as ENLARGED; the same along all axes */
} pillion_side;

/** Fields of one mesh, wanted in one layout. */
typedef struct pillion_input_request {
  const char* const* fields; /**< arrays of the blocks come in this order */
  int32_t field_count;
  int32_t layout;
  const char* key;      /**< BY_KEY: an integer field of the mesh, one of each item */
  const char* position; /**< SPATIAL: a field with 3 components */
  double halo;          /**< SPATIAL: distance in the mesh's units of length */
  const char* select;   /**< BY_KEY, SPATIAL: an integer field to select by, or NULL for all */
  const int64_t* select_values; /**< values of `select` that are wanted */
  int32_t select_count;
  int32_t in_parts; /**< layouts from BLOCKS on, without ghost cells: 1 if a box may come as several
                     * blocks, its parts, so that what is here already need not be copied */

  /* read for the layouts from BLOCKS on, and not for those that older plug-ins know */
  int32_t axis;      /**< SLABS, PENCILS: 0 to 2 */
  int32_t sides[3];  /**< POWERS_OF_TWO: 2^sides[d] cells along axis d, fewer at its upper end; or
                      * one of the following */
  int64_t ghosts[3]; /**< cells that are added on both sides, per axis: where the mesh is periodic,
                      * copies of those at its other end, however many; where it is not, as many as
                      * there are. `sides` and `ghosts` of axes that the mesh lacks mean nothing. */
} pillion_input_request;

/** A box of cells, counted from 0, divided among the peers in one of the layouts BLOCKS, SLABS and
 * PENCILS. Each peer has one part, or none. */
typedef struct pillion_division {
  int32_t layout;
  int32_t axis; /**< SLABS, PENCILS: 0 to 2 */
  int32_t axes; /**< 1 to 3; parts are those of a mesh of as many */
  int32_t reserved;
  int64_t cells[3]; /**< 1 along axes that there are not */
} pillion_division;

/** Values of one field in one block. Element (i, j, k) of component c is at
 * data[i*strides[0] + j*strides[1] + k*strides[2] + c*strides[3]], in elements; particles use i.
 * So does a spectral mesh, of whose elements i counts. Of a field at its n^3 points, n = order + 1,
 * `components` is n^3 times that of the description: component c at point p = a + n*(b + n*d), a
 * counting along the first reference axis, is at data[i*strides[0] + (c*n^3 + p)*strides[3]]. */
typedef struct pillion_array {
  const void* data;
  pillion_type type;
  int32_t components;
  int64_t strides[4];
} pillion_array;

/** The part of an input that this rank holds in one piece. Of particles, the first `owned` of
 * `count` are this rank's, the rest are copies of others' (halo), shifted to their nearest image.
 * With ghost cells, `lo` and `hi` are those of all cells, so that they may be below 0 or above the
 * mesh where it is periodic; cell i is then cell i modulo the mesh's cells. `inner_lo` and
 * `inner_hi` are the block without them: what this rank has to work on, each cell once among all
 * peers. `count` is the number of all cells, `owned` that of the inner ones.
 * Of a box in parts, `lo` and `hi` are those of a part, whose values lie where they are or came to,
 * with any strides; `inner_lo` and `inner_hi` are those of the box, and `number` is the same for
 * all of its parts. Of a coarse publication all indices are coarse, see `coarsening`: layouts
 * divide the coarse mesh, sides and ghosts are counted in its cells, and an axis that the factor
 * does not divide is not periodic there. */
typedef struct pillion_block {
  int64_t lo[3];
  int64_t hi[3];
  int64_t count;
  int64_t owned;
  int32_t number; /**< as shared; in layouts from BLOCKS on, among the boxes of this peer */
  int32_t array_count;
  const pillion_array* arrays;

  /* hosts that do not know the layouts from BLOCKS on end before this line: read it of inputs in
   * these layouts only */
  int64_t inner_lo[3];
  int64_t inner_hi[3];
} pillion_block;

/** A column of a table: exactly one of the two pointers is set. */
typedef struct pillion_column {
  const char* name;
  const char* units;
  const double* reals;
  const int64_t* integers;
} pillion_column;

typedef struct pillion_attribute {
  const char* name;
  const char* units; /**< "" if it has none */
  const char* text;  /**< NULL if it is a number */
  double value;
} pillion_attribute;

/** A table product. */
typedef struct pillion_table {
  const char* name;
  const char* title;
  int32_t per_step; /**< 1: one file per step; 0: one file that each writing replaces */
  int32_t column_count;
  int64_t rows;
  const pillion_column* columns;
  const pillion_attribute* attributes;
  int32_t attribute_count;
  int32_t reserved;
} pillion_table;

/** Records of a size that is the same on all peers, each with a key that no other has. */
typedef struct pillion_records {
  const int64_t* keys;
  int64_t count;
  const void* values; /**< one record behind the other */
  size_t record_size; /**< bytes */
} pillion_records;

/** What the host offers. Later versions only append. */
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
  int32_t (*describe_field)(pillion_setup*, const char* name, const pillion_value* place,
                            pillion_field_description* description);
  int32_t (*request_input)(pillion_setup*, const pillion_input_request* request, int32_t* input);
  int32_t (*declare_output)(pillion_setup*, const char* name, const char* like, pillion_type type,
                            int32_t components, const char* units, int32_t* output);

  /* working */
  int64_t (*step)(const pillion_work*);
  double (*time)(const pillion_work*);
  int64_t (*publication)(const pillion_work*); /**< how many this analysis has worked on before */
  double (*interval)(const pillion_work*); /**< of the schedule, in time; 0 if it counts steps */
  int32_t (*products_due)(const pillion_work*);
  const char* (*units)(const pillion_work*, const char* name); /**< of a field, mesh, or "time" */
  int32_t (*domain)(const pillion_work*, const char* mesh, pillion_domain* domain);
  int32_t (*block_count)(const pillion_work*, int32_t input);
  const pillion_block* (*block)(const pillion_work*, int32_t input, int32_t index);
  int32_t (*produce)(pillion_work*, int32_t output, int32_t input, int32_t index, void** data);
  int32_t (*write_table)(pillion_work*, const pillion_table* table);

  /* peers: the ranks that run this stage; every one of them must make the call */
  int32_t (*peer)(const pillion_work*);
  int32_t (*peers)(const pillion_work*);
  int32_t (*reduce)(pillion_work*, void* values, int64_t count, pillion_type type,
                    int32_t operation);
  MPI_Comm (*communicator)(const pillion_work*);

  /* state: `global` values are alike on every peer; `keyed` records belong to the owner of the key
   */
  int32_t (*save_global)(pillion_state*, const char* name, const void* bytes, size_t size);
  int32_t (*save_keyed)(pillion_state*, const char* name, const int64_t* keys, int64_t count,
                        const void* records, size_t record_size);
  int32_t (*load_global)(pillion_state*, const char* name, const void** bytes, size_t* size);
  int32_t (*load_keyed)(pillion_state*, const char* name, const int64_t** keys, int64_t* count,
                        const void** records, size_t record_size);

  /* hosts whose `size` ends before this line do not have what follows */

  /** How coarse the publication is where sidecars could not keep up and the backlog policy is
   * `coarsen`: the factor by which each axis of a uniform mesh is coarser, cell i being cell
   * i * factor of the mesh as described; or of how many particles one is there. 1 if it is whole, 0
   * on failure. */
  int32_t (*coarsening)(const pillion_work*, const char* mesh);

  /** What is known of a mesh; as of a field, with an empty name and the units of its lengths. */
  int32_t (*describe_mesh)(pillion_setup*, const char* name, const pillion_value* place,
                           pillion_field_description* description);
  /** A field that the stage produces on the blocks of an input of its own, which must be in one of
   * the layouts from BLOCKS on: on their inner cells, each of which is one peer's. */
  int32_t (*declare_output_on)(pillion_setup*, const char* name, int32_t input, pillion_type type,
                               int32_t components, const char* units, int32_t* output);

  /** A field that the stage produces on boxes of a uniform mesh of its choosing. */
  int32_t (*declare_output_of)(pillion_setup*, const char* name, const char* mesh,
                               pillion_type type, int32_t components, const char* units,
                               int32_t* output);
  /** Memory for one of them, packed with the first axis fastest. No cell may be in two boxes of any
   * peers. */
  int32_t (*produce_box)(pillion_work*, int32_t output, const int64_t* lo, const int64_t* hi,
                         void** data);
  /** The part of the domain that is this peer's in a SPATIAL input, from lo to hi in units of the
   * domain's edges; a particle is owned by the peer in whose part it lies. */
  int32_t (*spatial_part)(const pillion_work*, int32_t input, double* lo, double* hi);

  /** The part that this peer has; lo and hi are 0 if it has none. */
  int32_t (*part)(const pillion_work*, const pillion_division* division, int64_t* lo, int64_t* hi);
  /** Moves what the stage has computed from one division of some cells to another: so many bytes
   * for each cell, packed with the first axis fastest. Every peer must make the call. */
  int32_t (*regroup)(pillion_work*, const pillion_division* from, const pillion_division* to,
                     int64_t bytes_per_cell, const void* source, void* target);

  /** The folder of the analysis's products, for stages that write files of their own; it is there
   * on return. The text lives until the callback returns. */
  int32_t (*product_folder)(pillion_work*, const char** path);
  /** Writes a product that is a text whole or not at all, and waits until it is on disk if it is to
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

  /** What describe_field and describe_mesh say, and, of spectral meshes, what they cannot: those
   * are for stages that know nothing of such meshes, and fail there. `what` is 0 for a field and 1
   * for a mesh; `size` is sizeof(pillion_field_description), of which the host fills no more. */
  int32_t (*describe)(pillion_setup*, int32_t what, const char* name, const pillion_value* place,
                      pillion_field_description* description, size_t size);
  /** As declare_output, for a field on a spectral mesh that is centred otherwise than `like`. */
  int32_t (*declare_output_centred)(pillion_setup*, const char* name, const char* like,
                                    pillion_type type, int32_t components,
                                    pillion_centering centering, const char* units,
                                    int32_t* output);

  /** Keeps this publication from the stages after this one: they do not run, no output needs to be
   * produced, and nothing crosses to sidecars. Every peer must make the call, or none. */
  int32_t (*withhold)(pillion_work*);
  /** Brings records that peers have to those who want them, in the order of `wanted`, a record
   * behind the other. Fails if nobody has one. Every peer must make the call. */
  int32_t (*fetch)(pillion_work*, const pillion_records* have, const int64_t* wanted, int64_t count,
                   void* records);

  /** Says that the stage cannot work on coarse publications (see `coarsening`). While the stage
   * runs in sidecars, its analysis skips the publications that would be coarse. */
  int32_t (*require_whole)(pillion_setup*);

  /** Declares a product that the stage may write, by its name without a step: "NAME.csv" for a
   * table called NAME, the names that write_text and write_file are given, and those of files and
   * folders of its own below product_folder. Fails if an earlier stage of the analysis declares
   * the same one, so that no run begins in which stages overwrite each other's products. */
  int32_t (*declare_product)(pillion_setup*, const char* name);
} pillion_stage_host;

/** What a plug-in is. */
typedef struct pillion_stage_table {
  uint32_t abi_version; /**< PILLION_STAGE_ABI_VERSION */
  uint32_t size;        /**< sizeof(pillion_stage_table) */
  const char* name;     /**< as in YAML */
  const char* summary;  /**< one sentence */
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

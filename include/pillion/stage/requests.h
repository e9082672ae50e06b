/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stage plug-in asks of the host: inputs in a layout, outputs, and boxes of cells divided
 * among its peers. Part of stage.h; structs begin with their size, as said there. */
#ifndef PILLION_STAGE_REQUESTS_H
#define PILLION_STAGE_REQUESTS_H

#include <pillion/types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Layouts that a stage may ask for: which rank holds what. Those from BLOCKS on are for meshes
 * of boxes. They may be grown by ghost cells. Without these, each cell of the mesh is in one block
 * of one peer, and a peer may have no block if there are few cells. The arrays of their blocks are
 * contiguous, components interleaved, first axis fastest. */
enum {
  PILLION_LAYOUT_AS_SHARED = 1, /**< blocks as the simulation shares them */
  PILLION_LAYOUT_BY_KEY = 2,  /**< a particle, a spectral element or an unstructured cell is always
                                 at the owner of its key, sorted by key */
  PILLION_LAYOUT_SPATIAL = 3, /**< by place, with copies of all that lies within `halo` */
  PILLION_LAYOUT_BLOCKS = 4,  /**< one block per peer, as near to cubes as can be */
  PILLION_LAYOUT_SLABS = 5,   /**< one per peer, cut along `axis` alone */
  PILLION_LAYOUT_PENCILS = 6, /**< one per peer, whole along `axis`, cut along the others */
  PILLION_LAYOUT_POWERS_OF_TWO = 7, /**< any number per peer; see `sides` */
  PILLION_LAYOUT_TRANSFORM = 8      /**< slabs along the third axis; where the mesh has fewer planes
                                       than there are peers, pencils along the first */
};

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
  size_t size;               /**< sizeof(pillion_input_request) */
  const char* const* fields; /**< arrays of the blocks come in this order */
  int32_t field_count;
  int32_t layout;
  const char* key;      /**< BY_KEY: an integer field of the mesh, one of each item; of unstructured
                           cells, NULL for the ids that the program shares with them */
  const char* position; /**< SPATIAL: a field with 3 components; of cells, NULL */
  double halo;          /**< SPATIAL: distance in units of length; of cells, also BY_KEY, layers */
  const char* select;   /**< BY_KEY, SPATIAL: an integer field to select by, or NULL for all */
  const int64_t* select_values; /**< values of `select` that are wanted */
  int32_t select_count;
  int32_t in_parts; /**< layouts from BLOCKS on, without ghost cells: 1 if a box may come as several
                     * blocks, its parts, so that what is here already need not be copied */
  int32_t axis;     /**< SLABS, PENCILS: 0 to 2 */
  int32_t sides[3]; /**< POWERS_OF_TWO: 2^sides[d] cells along axis d, fewer at its upper end; or
                     * a pillion_side */
  int64_t ghosts[3]; /**< cells that are added on both sides, per axis: where the mesh is periodic,
                      * copies of those at its other end, however many; where it is not, as many as
                      * there are. `sides` and `ghosts` of axes that the mesh lacks mean nothing.
                      * Layouts before BLOCKS have no ghost cells: 0. */
  int32_t with_levels; /**< AS_SHARED: 1 if the stage takes blocks of several levels of refinement
                        * and meshes with missing cells. Flags mark the cells that finer blocks
                        * cover. With 0 the host refuses fields on such meshes. */
  int32_t with_points; /**< AS_SHARED: 1 if the stage takes values at points of meshes of boxes:
                        * arrays with one more index than cells along each axis of the mesh, see
                        * pillion_array. With 0 the host refuses such fields. */
} pillion_input_request;

/** A field that a stage produces. With `like` it is on the blocks of that field, which the stage
 * reads as shared. With `mesh` it is on boxes of that uniform mesh, which the stage chooses. If
 * both are NULL, it is on the inner cells of the input number `input`, which must be in one of the
 * layouts from BLOCKS on. */
typedef struct pillion_output {
  size_t size; /**< sizeof(pillion_output) */
  const char* name;
  const char* units;
  const char* like;
  const char* mesh;
  int32_t input;
  pillion_type type;
  int32_t components;
  pillion_centering centering; /**< 0: that of `like`, or of cells */
} pillion_output;

/** A box of cells, counted from 0, divided among the peers in one of the layouts BLOCKS, SLABS and
 * PENCILS. Each peer has one part, or none. */
typedef struct pillion_division {
  int32_t layout;
  int32_t axis; /**< SLABS, PENCILS: 0 to 2 */
  int32_t axes; /**< 1 to 3; parts are those of a mesh of as many */
  int32_t reserved;
  int64_t cells[3]; /**< 1 along axes that there are not */
} pillion_division;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain values that simulations and stages share: element types, kinds of mesh, arrays with a
 * shape, the domain that particles live in, and points and cells of unstructured meshes. No
 * function is declared here. */
#ifndef PILLION_TYPES_H
#define PILLION_TYPES_H

#include <stddef.h>
#include <stdint.h>

/** Element types of a field. */
enum {
  PILLION_INT32 = 1,
  PILLION_INT64 = 2,
  PILLION_FLOAT32 = 3,
  PILLION_FLOAT64 = 4,
  PILLION_INT8 = 5,
  PILLION_UINT8 = 6,
  PILLION_INT16 = 7,
  PILLION_UINT16 = 8,
  PILLION_UINT32 = 9,
  PILLION_UINT64 = 10
};
typedef int32_t pillion_type;

/** Kinds of mesh. */
enum {
  PILLION_UNIFORM = 1,
  PILLION_PARTICLES = 2,
  PILLION_SPECTRAL = 3,
  PILLION_RECTILINEAR = 4,
  PILLION_CURVILINEAR = 5,
  PILLION_UNSTRUCTURED = 6
};
typedef int32_t pillion_mesh_kind;

/** Where a mesh has the values of a field. Fields of all meshes of cells are at cells or points;
 * those of uniform and rectilinear ones also at faces or edges. Those of spectral meshes are at the
 * points of each element, or at cells: one value for each element. Particles have no centering: 0;
 * a catalogue refuses all else. */
enum { PILLION_CELL = 1, PILLION_POINT = 2, PILLION_FACE = 3, PILLION_EDGE = 4 };
typedef int32_t pillion_centering;

/** Whose points a field has values at in spectral elements. */
enum { PILLION_GAUSS_LOBATTO = 0, PILLION_GAUSS = 1 };
typedef int32_t pillion_quadrature;

/** What the axes of a mesh measure. */
enum { PILLION_CARTESIAN = 1, PILLION_CYLINDRICAL = 2, PILLION_SPHERICAL = 3 };
typedef int32_t pillion_metric;

/** Where memory is. This version knows memory of the host. */
enum {
  PILLION_MEMORY_HOST = 1,
  PILLION_MEMORY_PINNED = 2,  /**< of the host, which a device reads directly */
  PILLION_MEMORY_MANAGED = 3, /**< both read it; pages move on demand */
  PILLION_MEMORY_DEVICE = 4
};
typedef int32_t pillion_memory_space;

/** Where the components of an array stand: the fastest dimension of a language with Fortran's
 * order, or the slowest. */
enum { PILLION_COMPONENTS_FIRST = 0, PILLION_COMPONENTS_LAST = 1 };
typedef int32_t pillion_components;

/** An array of a language in which arrays know their shape. Element (i, j, …), counted from 0, is
 * i * strides[0] + j * strides[1] + … bytes behind `data`. */
typedef struct pillion_view {
  const void* data;
  pillion_type type;
  int32_t rank; /**< 1 to 5 */
  int64_t extents[5];
  int64_t strides[5]; /**< in bytes; may be negative */
} pillion_view;

/** The parallelepiped that particles live in. Its origin is `lo`, its edges are
 * (hi[0]-lo[0], 0, 0), (tilt[0], hi[1]-lo[1], 0) and (tilt[1], tilt[2], hi[2]-lo[2]). The tilt is
 * (xy, xz, yz). `periodic[d]` is 1 where edge d is periodic. Lengths are in the mesh's units. With
 * `dimensions` 2 particles live in the plane of the first two edges: their third coordinate, the
 * third edge and its tilts do not count. 0 leaves the dimensions to the configuration: 3, unless it
 * says 2 for this mesh. Stages see 2 or 3. */
typedef struct pillion_domain {
  double lo[3];
  double hi[3];
  double tilt[3];
  int32_t periodic[3];
  int32_t dimensions;
} pillion_domain;

/** Points of a block of an unstructured mesh. Coordinate d of point i is element i * stride behind
 * data[d]; where data[1] is NULL, it is element i * stride + d behind data[0]. */
typedef struct pillion_points {
  size_t size; /**< sizeof(pillion_points), set by the program */
  int64_t count;
  const void* data[3];
  int64_t stride;     /**< in elements; 0 if points are packed */
  pillion_type type;  /**< PILLION_FLOAT32 or PILLION_FLOAT64 */
  int32_t dimensions; /**< coordinates of each point, 1 to 3; 0 stands for 3. The others are 0 */
  const int64_t* ids; /**< of each point in the whole mesh; may be NULL */
} pillion_points;

/** Cells of a block of an unstructured mesh, after VTK's model. Cell c has the points from
 * points[offsets[c]] to points[offsets[c + 1] - 1], in the order that VTK's type of cell has. A
 * polyhedron (type 42) lists each of its points once, and has faces besides. They are
 * polyhedron_faces[polyhedron_offsets[c]] to polyhedron_faces[polyhedron_offsets[c + 1] - 1]. Face
 * f has the points from face_points[face_offsets[f]] on. */
typedef struct pillion_cells {
  size_t size; /**< sizeof(pillion_cells), set by the program */
  int64_t count;
  const uint8_t* types;    /**< VTK's type of each cell; NULL if all are of `type` */
  int32_t type;            /**< of all cells, if `types` is NULL */
  pillion_type index_type; /**< of all indices below: PILLION_INT32 or PILLION_INT64 */
  int32_t base; /**< what the program counts from: 0, or 1 as in Fortran. Of offsets too */
  int32_t points_are_ids; /**< 1: points are named by their ids in the whole mesh, which
                           * pillion_share_points gave; 0: by their index in the block */
  const void* offsets; /**< count + 1; NULL if all are of one type with a fixed number of points */
  const void* points;
  int64_t face_count;       /**< 0 without polyhedra; then the next four may be NULL */
  const void* face_offsets; /**< face_count + 1 */
  const void* face_points;
  const void* polyhedron_offsets; /**< count + 1 */
  const void* polyhedron_faces;
  const uint8_t* flags; /**< of each cell, VTK's ghost bits: 1 if another block owns it, 32 if it is
                         * hidden; may be NULL */
  const int64_t* ids;   /**< of each cell in the whole mesh; may be NULL */
  const int64_t* parents; /**< of a boundary: the id of the cell that each cell bounds; or NULL */
  const int32_t* patches; /**< of each cell, the number of its patch as the configuration lists
                           * them, from 0 whatever `base` is; may be NULL */
} pillion_cells;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain values that simulations and stages share: element types, kinds of mesh, arrays with a
 * shape, and the domain that particles live in. No function is declared here. */
#ifndef PILLION_TYPES_H
#define PILLION_TYPES_H

#include <stdint.h>

/** Element types of a field. */
enum { PILLION_INT32 = 1, PILLION_INT64 = 2, PILLION_FLOAT32 = 3, PILLION_FLOAT64 = 4 };
typedef int32_t pillion_type;

/** Kinds of mesh. */
enum { PILLION_UNIFORM = 1, PILLION_PARTICLES = 2, PILLION_SPECTRAL = 3 };
typedef int32_t pillion_mesh_kind;

/** Where in the elements of a spectral mesh a field has values: at each of an element's points, or
 * once for an element. 0 on other meshes. */
enum { PILLION_POINTS = 1, PILLION_ELEMENTS = 2 };
typedef int32_t pillion_centering;

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

/** The parallelepiped that particles live in: origin `lo`, edges (hi[0]-lo[0], 0, 0),
 * (tilt[0], hi[1]-lo[1], 0) and (tilt[1], tilt[2], hi[2]-lo[2]); tilt is (xy, xz, yz).
 * `periodic[d]` is 1 where edge d is periodic. Lengths are in the mesh's units. With `dimensions` 2
 * particles live in the plane of the first two edges: their third coordinate, the third edge and
 * its tilts do not count. 0 leaves the dimensions to the configuration: 3, unless it says 2 for
 * this mesh. Stages see 2 or 3. */
typedef struct pillion_domain {
  double lo[3];
  double hi[3];
  double tilt[3];
  int32_t periodic[3];
  int32_t dimensions;
} pillion_domain;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What cs_pillion.c, which is compiled with each case, and the library that it is linked with tell
 * each other. Types are plain, so that the library needs nothing of code_saturne, and serves all
 * its versions. No function returns a failure: a mistake in the configuration ends the program
 * before the first step, and a later failure is a warning. */
#ifndef PILLION_SATURNE_H
#define PILLION_SATURNE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a field has its values, by code_saturne's numbers of mesh locations. */
enum {
  PILLION_SATURNE_CELLS = 1,
  PILLION_SATURNE_INTERIOR_FACES = 2,
  PILLION_SATURNE_BOUNDARY_FACES = 3,
  PILLION_SATURNE_VERTICES = 4
};

/** The part of the mesh that one rank has. Faces list their points in order; the normal of an
 * interior face points from its first cell to its second. */
typedef struct pillion_saturne_mesh {
  int32_t cells; /**< halo left out; faces may name cells beyond, which are of the halo */
  int32_t interior_faces;
  int32_t boundary_faces;
  int32_t points;
  const double* coordinates;       /**< three of each point */
  const int32_t* interior_cells;   /**< two of each interior face */
  const int32_t* boundary_cells;   /**< one of each boundary face; -1 if it bounds no cell */
  const int32_t* interior_offsets; /**< one more than faces, into interior_points */
  const int32_t* interior_points;
  const int32_t* boundary_offsets;
  const int32_t* boundary_points;
  const int64_t* cell_numbers; /**< in the whole mesh, from 1; NULL if they are 1, 2, 3, ... */
  const int64_t* interior_numbers;
  const int64_t* boundary_numbers;
  const int64_t* point_numbers;
  const int32_t* zones; /**< of each boundary face, counted from 0 */
} pillion_saturne_mesh;

/** Opens the session if there is a configuration. A sidecar rank serves, and never returns. Returns
 * the communicator for code_saturne, which is `comm` unless ranks became sidecars; the program
 * frees another one. `comm` is MPI_COMM_NULL in a program that has not started MPI; this does it
 * then, and returns MPI_COMM_WORLD. [collective over comm] */
MPI_Comm pillion_saturne_open(MPI_Comm comm);
int pillion_saturne_is_open(void);

/** Before pillion_saturne_configure: what the catalogue has. */
void pillion_saturne_add_zone(const char* name);
void pillion_saturne_add_field(const char* name, int32_t location, int32_t components,
                               int32_t is_previous);
void pillion_saturne_set_constant(const char* name); /**< a field that keeps its values */
void pillion_saturne_set_celsius(void);              /**< temperatures are not in kelvin */
void pillion_saturne_configure(void);

/** Whether the step would do anything; true before the first step. */
int pillion_saturne_is_due(int64_t step, double time);

/** Whether an analysis uses a field, one of an attached job included. */
int pillion_saturne_is_used(const char* name);

/** Shares each mesh that has a field in use and is not shared yet. With `moves`, the points are
 * shared again; with `changes`, everything is. */
void pillion_saturne_share_mesh(const pillion_saturne_mesh* mesh, int moves, int changes);

/** Shares a field with the values of its cells, faces or points, in the mesh as it was shared
 * last. The arguments are those of pillion_saturne_add_field. */
void pillion_saturne_share(const char* name, int32_t is_previous, const double* values);

void pillion_saturne_step(int64_t step, double time, double dt);
void pillion_saturne_checkpoint(void);
void pillion_saturne_close(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled with each case, and linked into its program. Functions here that have the names of
 * functions of code_saturne's library are called in their place, and call them: the start of MPI,
 * the end of each time step's output, a written checkpoint, the end of the run. So the case may
 * have user functions of all names. What they share is code_saturne's own memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cs_defs.h"
#include "cs_headers.h"
#include "pillion_saturne.h"

_Static_assert(sizeof(cs_lnum_t) == 4,
               "Pillion needs a code_saturne with local numbers of 4 bytes");
_Static_assert(sizeof(cs_gnum_t) == 8,
               "Pillion needs a code_saturne with global numbers of 8 bytes");
_Static_assert(sizeof(cs_real_t) == 8, "Pillion needs a code_saturne in double precision");

/* Of the whole program, since code_saturne has one run in a process. */
static int has_sidecars = 0;
static int is_configured = 0;
static int has_checkpoint = 0; /* that Pillion has not saved its state beside yet */

/* The function of this name in code_saturne's library. */
#define ORIGINAL(name, function)                                                                   \
  do {                                                                                             \
    void* found = dlsym(RTLD_NEXT, name);                                                          \
    if (found == NULL) {                                                                           \
      fprintf(stderr, "pillion: code_saturne's library has no function %s, or is static\n", name); \
      exit(EXIT_FAILURE);                                                                          \
    }                                                                                              \
    memcpy(&function, &found, sizeof function);                                                    \
  } while (0)

/* Starts MPI; some ranks may become sidecars, which do not return. */
void cs_base_mpi_init(int* argc, char** argv[]) {
  void (*original)(int*, char***);
  ORIGINAL("cs_base_mpi_init", original);
  original(argc, argv);
  MPI_Comm all = cs_glob_mpi_comm;
  MPI_Comm simulation = pillion_saturne_open(all);
  if (simulation == all) return;
  has_sidecars = all != MPI_COMM_NULL;
  cs_glob_mpi_comm = simulation;
  MPI_Comm_size(simulation, &cs_glob_n_ranks);
  MPI_Comm_rank(simulation, &cs_glob_rank_id);
  if (cs_glob_n_ranks == 1) cs_glob_rank_id = -1; /* code_saturne's sign of a serial run */
}

/* Looks for programs to couple with, in a call that all ranks of the job make. There are none where
 * there are sidecars, which would not answer. */
void cs_coupling_discover_mpi_apps(const char* app_name, const char* forced_app_type) {
  void (*original)(const char*, const char*);
  if (has_sidecars) return;
  ORIGINAL("cs_coupling_discover_mpi_apps", original);
  original(app_name, forced_app_type);
}

/* The place of a field that code_saturne has allocated, or 0. */
static int location_of(const cs_field_t* f) {
  if (f->val == NULL && cs_mesh_location_get_n_elts(f->location_id)[0] > 0) return 0;
  switch (f->location_id) {
    case CS_MESH_LOCATION_CELLS: return PILLION_SATURNE_CELLS;
    case CS_MESH_LOCATION_INTERIOR_FACES: return PILLION_SATURNE_INTERIOR_FACES;
    case CS_MESH_LOCATION_BOUNDARY_FACES: return PILLION_SATURNE_BOUNDARY_FACES;
    case CS_MESH_LOCATION_VERTICES: return PILLION_SATURNE_VERTICES;
    default: return 0;
  }
}

/* The stress on boundary faces, which code_saturne computes for its output alone; NULL if there is
 * no use of it. The memory stays as it is until the next call. */
static const cs_real_t* boundary_stress(void) {
  static cs_real_t* stress = NULL; /* not code_saturne's memory, which it counts in its log */
  const cs_field_t* forces = cs_field_by_name_try("boundary_forces");
  const cs_real_t* areas = cs_glob_mesh_quantities->b_face_surf;
  const cs_lnum_t n = 3 * cs_glob_mesh->n_b_faces;
  if (forces == NULL || !pillion_saturne_is_used("boundary_stress")) return NULL;
  void* more = realloc(stress, (size_t)(n + 1) * sizeof(cs_real_t));
  if (more == NULL) return NULL;
  stress = more;
  for (cs_lnum_t i = 0; i < n; i++) stress[i] = forces->val[i] / areas[i / 3];
  return stress;
}

typedef void thermal_flux_function(const int* count, const int* faces, cs_real_t* flux);

/* The function that code_saturne has for its output, in Fortran; NULL if this version has none, or
 * if the case has no thermal model. */
static thermal_flux_function* thermal_flux_of_faces(void) {
  thermal_flux_function* out = NULL;
  void* found = dlsym(RTLD_DEFAULT, "post_boundary_thermal_flux_");
  if (found != NULL && cs_thermal_model_field() != NULL) memcpy(&out, &found, sizeof out);
  return out;
}

/* The heat that enters through boundary faces, by area; as boundary_stress. All ranks call it,
 * because it computes a gradient. */
static const cs_real_t* boundary_thermal_flux(void) {
  static cs_real_t* flux = NULL;
  thermal_flux_function* compute = thermal_flux_of_faces();
  const int n = cs_glob_mesh->n_b_faces;
  if (compute == NULL || !pillion_saturne_is_used("boundary_thermal_flux")) return NULL;
  void* more = realloc(flux, (size_t)(n + 1) * sizeof(cs_real_t));
  int* faces = malloc((size_t)(n + 1) * sizeof(int));
  if (more == NULL || faces == NULL) bft_error(__FILE__, __LINE__, 0, "too little memory");
  flux = more;
  for (int f = 0; f < n; f++) faces[f] = f + 1;
  compute(&n, faces, flux);
  free(faces);
  return flux;
}

static int mesh_moves(void) { return cs_glob_ale > 0; }

/* Whether cells and faces are others at each step. */
static int mesh_changes(void) {
  return cs_turbomachinery_get_model() == CS_TURBOMACHINERY_TRANSIENT;
}

static void add_geometry(const char* name, int location, int components) {
  pillion_saturne_add_field(name, location, components, 0);
  if (!mesh_moves() && !mesh_changes()) pillion_saturne_set_constant(name);
}

static void configure(void) {
  is_configured = 1;
  for (int z = 0; z < cs_boundary_zone_n_zones(); z++)
    pillion_saturne_add_zone(cs_boundary_zone_by_id(z)->name);
  const int count = cs_field_n_fields();
  int* is_missing = calloc((size_t)count + 1, sizeof *is_missing);
  if (is_missing == NULL) bft_error(__FILE__, __LINE__, 0, "too little memory");
  for (int i = 0; i < count; i++) is_missing[i] = location_of(cs_field_by_id(i)) == 0;
  /* A rank without such faces cannot see whether a field of faces is allocated. */
  if (cs_glob_n_ranks > 1)
    MPI_Allreduce(MPI_IN_PLACE, is_missing, count, MPI_INT, MPI_MAX, cs_glob_mpi_comm);
  for (int i = 0; i < count; i++) {
    const cs_field_t* f = cs_field_by_id(i);
    const int location = location_of(f);
    if (is_missing[i]) continue;
    pillion_saturne_add_field(f->name, location, f->dim, 0);
    if (f->n_time_vals > 1) pillion_saturne_add_field(f->name, location, f->dim, 1);
  }
  free(is_missing);
  if (cs_field_by_name_try("boundary_forces") != NULL)
    pillion_saturne_add_field("boundary_stress", PILLION_SATURNE_BOUNDARY_FACES, 3, 0);
  if (thermal_flux_of_faces() != NULL)
    pillion_saturne_add_field("boundary_thermal_flux", PILLION_SATURNE_BOUNDARY_FACES, 1, 0);
  add_geometry("cell_volume", PILLION_SATURNE_CELLS, 1);
  add_geometry("cell_centre", PILLION_SATURNE_CELLS, 3);
  add_geometry("boundary_area", PILLION_SATURNE_BOUNDARY_FACES, 1);
  add_geometry("boundary_normal", PILLION_SATURNE_BOUNDARY_FACES, 3);
  if (cs_glob_thermal_model->itpscl == CS_TEMPERATURE_SCALE_CELSIUS) pillion_saturne_set_celsius();
  pillion_saturne_configure();
}

static void share(void) {
  const cs_mesh_t* m = cs_glob_mesh;
  const cs_mesh_quantities_t* q = cs_glob_mesh_quantities;
  const pillion_saturne_mesh mesh = {.cells = m->n_cells,
                                     .interior_faces = m->n_i_faces,
                                     .boundary_faces = m->n_b_faces,
                                     .points = m->n_vertices,
                                     .coordinates = m->vtx_coord,
                                     .interior_cells = (const int32_t*)m->i_face_cells,
                                     .boundary_cells = m->b_face_cells,
                                     .interior_offsets = m->i_face_vtx_idx,
                                     .interior_points = m->i_face_vtx_lst,
                                     .boundary_offsets = m->b_face_vtx_idx,
                                     .boundary_points = m->b_face_vtx_lst,
                                     .cell_numbers = (const int64_t*)m->global_cell_num,
                                     .interior_numbers = (const int64_t*)m->global_i_face_num,
                                     .boundary_numbers = (const int64_t*)m->global_b_face_num,
                                     .point_numbers = (const int64_t*)m->global_vtx_num,
                                     .zones = cs_boundary_zone_face_zone_id()};
  pillion_saturne_share_mesh(&mesh, mesh_moves(), mesh_changes());
  for (int i = 0; i < cs_field_n_fields(); i++) {
    const cs_field_t* f = cs_field_by_id(i);
    pillion_saturne_share(f->name, 0, f->val);
    if (f->n_time_vals > 1) pillion_saturne_share(f->name, 1, f->val_pre);
  }
  const cs_real_t* stress = boundary_stress();
  if (stress != NULL) pillion_saturne_share("boundary_stress", 0, stress);
  const cs_real_t* flux = boundary_thermal_flux();
  if (flux != NULL) pillion_saturne_share("boundary_thermal_flux", 0, flux);
  pillion_saturne_share("cell_volume", 0, q->cell_vol);
  pillion_saturne_share("cell_centre", 0, q->cell_cen);
  pillion_saturne_share("boundary_area", 0, q->b_face_surf);
  pillion_saturne_share("boundary_normal", 0, q->b_face_normal);
}

/* The end of a time step, after its output; before the first step, of the initial state. */
void cs_post_time_step_end(void) {
  void (*original)(void);
  ORIGINAL("cs_post_time_step_end", original);
  original();
  if (!pillion_saturne_is_open()) return;
  const cs_time_step_t* ts = cs_glob_time_step;
  if (!is_configured) configure();
  if (pillion_saturne_is_due(ts->nt_cur, ts->t_cur)) share();
  pillion_saturne_step(ts->nt_cur, ts->t_cur, ts->dt[0]);
  /* code_saturne writes checkpoints before the step is offered here. */
  if (has_checkpoint) pillion_saturne_checkpoint();
  has_checkpoint = 0;
}

void cs_restart_checkpoint_done(const cs_time_step_t* ts) {
  void (*original)(const cs_time_step_t*);
  ORIGINAL("cs_restart_checkpoint_done", original);
  original(ts);
  has_checkpoint = 1;
}

/* The end of the run, while fields and mesh are still there. */
void cs_post_finalize(void) {
  void (*original)(void);
  pillion_saturne_close();
  ORIGINAL("cs_post_finalize", original);
  original();
}

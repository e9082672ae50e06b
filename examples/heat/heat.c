/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat conduction in a periodic cube: dT/dt = alpha * laplace(T), explicit in time, second order
 * in space, cut over the ranks in three directions with a layer of ghost cells. It shows how little
 * a code must add to ride with Pillion: the lines that name it are all there is.
 *
 * The start is one sine mode about a mean temperature. That mode decays exponentially, which the
 * program compares its result with: exactly for the discrete equations, and to second order for the
 * continuous ones. Usage: heat [cells per side [steps]], where pillion.yaml is. */
#include <math.h>
#include <pillion/pillion.h>
#include <stdio.h>
#include <stdlib.h>

static const double mean = 300.0, amplitude = 10.0; /* K */
static const double side = 1.0;                     /* m */
static const double alpha = 1.0e-4;                 /* m^2/s */

typedef struct {
  MPI_Comm comm; /* a periodic grid of ranks */
  int below[3];  /* neighbours */
  int above[3];
  int64_t cells; /* per side of the cube */
  int64_t lo[3]; /* the part of this rank */
  int64_t hi[3];
  int64_t stride[4];     /* of its memory, ghost cells included; the last, between components */
  MPI_Datatype plane[3]; /* what neighbours along each axis exchange */
  double* now;
  double* next;
} heat;

static double wave_number(void) { return 2.0 * acos(-1.0) / side; }

/* Largest stable step is h^2 / (6 alpha); half of it is taken. */
static double time_step(const heat* h) {
  const double width = side / (double)h->cells;
  return width * width / (12.0 * alpha);
}

static int64_t extent(const heat* h, int axis) { return h->hi[axis] - h->lo[axis]; }

static int64_t at(const heat* h, int64_t i, int64_t j, int64_t k) {
  return (i + 1) * h->stride[0] + (j + 1) * h->stride[1] + (k + 1) * h->stride[2];
}

/* The mode at a cell's centre, between -1 and 1. */
static double mode(const heat* h, int64_t i, int64_t j, int64_t k) {
  const double phase = wave_number() * side / (double)h->cells;
  return sin(phase * ((double)(h->lo[0] + i) + 0.5)) * sin(phase * ((double)(h->lo[1] + j) + 0.5)) *
         sin(phase * ((double)(h->lo[2] + k) + 0.5));
}

static void fill(heat* h) {
  for (int64_t k = 0; k < extent(h, 2); ++k)
    for (int64_t j = 0; j < extent(h, 1); ++j)
      for (int64_t i = 0; i < extent(h, 0); ++i)
        h->now[at(h, i, j, k)] = mean + amplitude * mode(h, i, j, k);
}

/* One plane of cells across `axis`, ghost cells of the other axes included. */
static MPI_Datatype plane(const heat* h, int axis) {
  MPI_Datatype line, type;
  const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
  MPI_Type_vector((int)extent(h, first) + 2, 1, (int)h->stride[first], MPI_DOUBLE, &line);
  MPI_Type_create_hvector((int)extent(h, second) + 2, 1,
                          (MPI_Aint)(h->stride[second] * (int64_t)sizeof(double)), line, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&line);
  return type;
}

static void set_up(heat* h, MPI_Comm comm, int64_t cells) {
  int ranks = 0, rank = 0, dims[3] = {0, 0, 0}, periods[3] = {1, 1, 1}, place[3];
  int64_t size = 1;
  MPI_Comm_size(comm, &ranks);
  MPI_Dims_create(ranks, 3, dims);
  MPI_Cart_create(comm, 3, dims, periods, 0, &h->comm);
  MPI_Comm_rank(h->comm, &rank);
  MPI_Cart_coords(h->comm, rank, 3, place);
  h->cells = cells;
  for (int a = 0; a < 3; ++a) {
    MPI_Cart_shift(h->comm, a, 1, &h->below[a], &h->above[a]);
    h->lo[a] = cells * place[a] / dims[a];
    h->hi[a] = cells * (place[a] + 1) / dims[a];
    h->stride[a] = size;
    size *= extent(h, a) + 2;
  }
  h->now = calloc((size_t)size, sizeof *h->now);
  h->next = calloc((size_t)size, sizeof *h->next);
  for (int a = 0; a < 3; ++a) h->plane[a] = plane(h, a);
}

static void tear_down(heat* h) {
  for (int a = 0; a < 3; ++a) MPI_Type_free(&h->plane[a]);
  MPI_Comm_free(&h->comm);
  free(h->now);
  free(h->next);
}

static void exchange_ghosts(heat* h) {
  for (int a = 0; a < 3; ++a) {
    const int64_t n = extent(h, a), s = h->stride[a];
    MPI_Sendrecv(h->now + n * s, 1, h->plane[a], h->above[a], 0, h->now, 1, h->plane[a],
                 h->below[a], 0, h->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(h->now + s, 1, h->plane[a], h->below[a], 1, h->now + (n + 1) * s, 1, h->plane[a],
                 h->above[a], 1, h->comm, MPI_STATUS_IGNORE);
  }
}

static void advance(heat* h) {
  exchange_ghosts(h);
  const double width = side / (double)h->cells;
  const double factor = alpha * time_step(h) / (width * width);
  const int64_t sj = h->stride[1], sk = h->stride[2];
  for (int64_t k = 0; k < extent(h, 2); ++k)
    for (int64_t j = 0; j < extent(h, 1); ++j)
      for (int64_t i = 0; i < extent(h, 0); ++i) {
        const double* t = h->now + at(h, i, j, k);
        h->next[t - h->now] = *t + factor * ((t[-1] + t[1] - 2 * *t) + (t[-sj] + t[sj] - 2 * *t) +
                                             (t[-sk] + t[sk] - 2 * *t));
      }
  double* swap = h->now;
  h->now = h->next;
  h->next = swap;
}

/* Largest distance on any rank from a mode of this amplitude, relative to the first amplitude. */
static double distance(const heat* h, double expected) {
  double largest = 0;
  for (int64_t k = 0; k < extent(h, 2); ++k)
    for (int64_t j = 0; j < extent(h, 1); ++j)
      for (int64_t i = 0; i < extent(h, 0); ++i)
        largest = fmax(largest, fabs(h->now[at(h, i, j, k)] - mean - expected * mode(h, i, j, k)));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, h->comm);
  return largest / amplitude;
}

/* Whether the mode has decayed as it must; the same on every rank. */
static int has_decayed(const heat* h, int64_t steps) {
  int rank = 0;
  const double width = side / (double)h->cells, dt = time_step(h), wave = wave_number();
  const double eigenvalue = 6.0 * (1.0 - cos(wave * width)) / (width * width);
  const double discrete =
      distance(h, amplitude * pow(1.0 - alpha * dt * eigenvalue, (double)steps));
  const double decay = 3.0 * alpha * wave * wave * dt * (double)steps;
  const double continuous = distance(h, amplitude * exp(-decay));
  const double allowed = 1e-11 + decay * exp(-decay) * wave * wave * width * width;
  MPI_Comm_rank(h->comm, &rank);
  if (rank == 0) printf("heat: discrete=%.17g continuous=%.17g\n", discrete, continuous);
  return discrete < 1e-11 && continuous < allowed;
}

/* Ends a run that cannot go on, for a reason that every rank has alike. */
static int stop(const char* why) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "heat: %s\n", why);
  MPI_Finalize();
  return 1;
}

int main(int argc, char** argv) {
  const int64_t cells = argc > 1 ? atoll(argv[1]) : 32, steps = argc > 2 ? atoll(argv[2]) : 200;
  heat h = {.stride = {0, 0, 0, 1}};
  MPI_Init(&argc, &argv);
  if (cells < 1 || steps < 0) return stop("usage: heat [cells per side [steps]]");
  pillion_session* pil;
  if (pillion_open("pillion.yaml", MPI_COMM_WORLD, &pil)) return stop(pillion_error_message());
  if (pillion_serve(pil)) return MPI_Finalize();
  set_up(&h, pillion_communicator(pil), cells);
  fill(&h);
  for (int64_t step = 0; step <= steps; ++step) {
    if (step > 0) advance(&h);
    pillion_share_box_strided(pil, "temperature", 0, h.lo, h.hi, h.now + at(&h, 0, 0, 0),
                              PILLION_FLOAT64, h.stride);
    if (pillion_step(pil, step, (double)step * time_step(&h))) return stop(pillion_error_message());
  }
  const int good = has_decayed(&h, steps);
  pillion_close(pil);
  tear_down(&h);
  MPI_Finalize();
  return good ? 0 : 1;
}

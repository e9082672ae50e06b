/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat conduction as in examples/heat, cut into slabs, in memory that the session gives: sidecars
 * on the same node read the values of a step where they lie, while the next step's go to another
 * buffer. Publishing costs the same few microseconds however large the field is.
 *
 * Ghost planes lie apart, so that a buffer holds the block and nothing else.
 * Usage: zero_copy [cells per side [steps]], where pillion.yaml is. */
#include <math.h>
#include <pillion/pillion.h>
#include <stdio.h>
#include <stdlib.h>

static const double mean = 300.0, amplitude = 10.0; /* K */
static const double side = 1.0;                     /* m */
static const double alpha = 1.0e-4;                 /* m^2/s */

typedef struct {
  MPI_Comm comm;
  int below, above; /* neighbours along the last axis */
  int64_t cells;    /* per side of the cube */
  int64_t lo[3];    /* the slab of this rank */
  int64_t hi[3];
  double* ghosts[2]; /* the planes next to the slab, below and above */
  double* now;       /* memory of the session */
} slab;

static double time_step(const slab* s) {
  const double width = side / (double)s->cells;
  return width * width / (12.0 * alpha);
}

static int64_t plane(const slab* s) { return s->cells * s->cells; }
static int64_t planes(const slab* s) { return s->hi[2] - s->lo[2]; }

/* The sine mode at a cell's centre, between -1 and 1. */
static double mode(const slab* s, int64_t i, int64_t j, int64_t k) {
  const double phase = 2.0 * acos(-1.0) / (double)s->cells;
  return sin(phase * ((double)i + 0.5)) * sin(phase * ((double)j + 0.5)) *
         sin(phase * ((double)(s->lo[2] + k) + 0.5));
}

static int set_up(slab* s, MPI_Comm comm, int64_t cells) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  *s = (slab){.comm = comm,
              .below = (rank + ranks - 1) % ranks,
              .above = (rank + 1) % ranks,
              .cells = cells,
              .lo = {0, 0, cells * rank / ranks},
              .hi = {cells, cells, cells * (rank + 1) / ranks}};
  for (int g = 0; g < 2; ++g) s->ghosts[g] = calloc((size_t)plane(s), sizeof(double));
  return cells >= ranks;
}

static void tear_down(slab* s) {
  for (int g = 0; g < 2; ++g) free(s->ghosts[g]);
}

static void fill(slab* s) {
  double* t = s->now;
  for (int64_t k = 0; k < planes(s); ++k)
    for (int64_t j = 0; j < s->cells; ++j)
      for (int64_t i = 0; i < s->cells; ++i) *t++ = mean + amplitude * mode(s, i, j, k);
}

static void exchange_ghosts(slab* s) {
  const int count = (int)plane(s);
  const double* last = s->now + (planes(s) - 1) * plane(s);
  MPI_Sendrecv(last, count, MPI_DOUBLE, s->above, 0, s->ghosts[0], count, MPI_DOUBLE, s->below, 0,
               s->comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(s->now, count, MPI_DOUBLE, s->below, 1, s->ghosts[1], count, MPI_DOUBLE, s->above, 1,
               s->comm, MPI_STATUS_IGNORE);
}

/* A plane of the slab, or the ghost plane below or above it. */
static const double* plane_at(const slab* s, int64_t k) {
  if (k < 0) return s->ghosts[0];
  return k < planes(s) ? s->now + k * plane(s) : s->ghosts[1];
}

/* Computes the next step from this one's values, which stay as they are. */
static void advance(slab* s, double* next) {
  exchange_ghosts(s);
  const int64_t n = s->cells;
  const double width = side / (double)n;
  const double factor = alpha * time_step(s) / (width * width);
  for (int64_t k = 0; k < planes(s); ++k) {
    const double *here = plane_at(s, k), *below = plane_at(s, k - 1), *above = plane_at(s, k + 1);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t row = j * n, south = (j + n - 1) % n * n, north = (j + 1) % n * n;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t west = row + (i + n - 1) % n, east = row + (i + 1) % n, c = row + i;
        next[k * plane(s) + c] =
            here[c] + factor * ((here[west] + here[east] - 2 * here[c]) +
                                (here[south + i] + here[north + i] - 2 * here[c]) +
                                (below[c] + above[c] - 2 * here[c]));
      }
    }
  }
  s->now = next;
}

/* Largest distance on any rank from the mode that has decayed as the discrete equations say. */
static double distance(const slab* s, int64_t steps) {
  const double factor = 1.0 - 6.0 * (1.0 - cos(2.0 * acos(-1.0) / (double)s->cells)) / 12.0;
  const double expected = amplitude * pow(factor, (double)steps);
  const double* t = s->now;
  double largest = 0;
  for (int64_t k = 0; k < planes(s); ++k)
    for (int64_t j = 0; j < s->cells; ++j)
      for (int64_t i = 0; i < s->cells; ++i)
        largest = fmax(largest, fabs(*t++ - mean - expected * mode(s, i, j, k)));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, s->comm);
  return largest / amplitude;
}

static int stop(const char* why) {
  fprintf(stderr, "zero_copy: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int main(int argc, char** argv) {
  const int64_t cells = argc > 1 ? atoll(argv[1]) : 32, steps = argc > 2 ? atoll(argv[2]) : 200;
  slab s;
  pillion_session* pil;
  MPI_Init(&argc, &argv);
  if (pillion_open("pillion.yaml", MPI_COMM_WORLD, &pil)) return stop(pillion_error_message());
  if (pillion_serve(pil)) return MPI_Finalize();
  if (!set_up(&s, pillion_communicator(pil), cells))
    return stop("there are more ranks than planes");
  void* memory = NULL;
  const size_t bytes = (size_t)(planes(&s) * plane(&s)) * sizeof(double);
  if (pillion_allocate(pil, "temperature", 0, bytes, 3, &memory))
    return stop(pillion_error_message());
  s.now = memory;
  fill(&s);
  pillion_share_box(pil, "temperature", 0, s.lo, s.hi, s.now);
  for (int64_t step = 0; step <= steps; ++step) {
    if (step > 0) {
      if (pillion_swap(pil, "temperature", 0, &memory)) return stop(pillion_error_message());
      advance(&s, memory);
    }
    if (pillion_step(pil, step, (double)step * time_step(&s))) return stop(pillion_error_message());
  }
  const double error = distance(&s, steps);
  int rank = 0;
  MPI_Comm_rank(s.comm, &rank);
  if (rank == 0) printf("heat: discrete=%.17g\n", error);
  tear_down(&s);
  pillion_close(pil);
  MPI_Finalize();
  return error < 1e-11 ? 0 : 1;
}

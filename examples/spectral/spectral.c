/* SPDX-License-Identifier: BSD-3-Clause */
/* A flow on spectral elements: the unit cube in hexahedra with Gauss-Lobatto-Legendre points, bent
 * by a smooth map, and on it the Taylor-Green vortex while it is still laminar, which has closed
 * values. It shows how a spectral-element code shares its mesh and fields; it solves nothing.
 *
 * Usage: spectral [elements per side [order [steps]]], where pillion.yaml is. */
#include <math.h>
#include <pillion/pillion.h>
#include <stdio.h>
#include <stdlib.h>

static const double viscosity = 0.01;

typedef struct {
  int64_t side;        /* elements along each edge of the cube */
  int n;               /* points along each edge of an element */
  int64_t first, last; /* elements of this rank */
  double* points;      /* on [-1, 1] */
  int64_t* number;     /* [element] */
  double* xyz;         /* [element][component][k][j][i] */
  double* velocity;    /* as xyz */
  double* pressure;    /* [element][k][j][i] */
} flow;

static int64_t elements(const flow* f) { return f->last - f->first; }
static int64_t points_of(const flow* f) { return (int64_t)f->n * f->n * f->n; }

/* Newton's iteration for the zeros of (1 - x^2) L'_N, from those of Chebyshev's polynomials. */
static void place_points(flow* f) {
  const int order = f->n - 1;
  for (int i = 0; i <= order; ++i) {
    double x = -cos(acos(-1.0) * i / order);
    for (int iteration = 0; iteration < 30; ++iteration) {
      double before = 1, value = x;
      for (int k = 1; k < order; ++k) {
        const double next = ((2 * k + 1) * x * value - k * before) / (k + 1);
        before = value;
        value = next;
      }
      x -= (x * value - before) / ((order + 1) * value);
    }
    f->points[i] = x;
  }
}

static int set_up(flow* f, MPI_Comm comm, int64_t side, int order) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int64_t all = side * side * side;
  *f = (flow){.side = side, .n = order + 1};
  f->first = all * rank / ranks;
  f->last = all * (rank + 1) / ranks;
  const size_t count = (size_t)elements(f), values = count * (size_t)points_of(f);
  f->points = calloc((size_t)f->n, sizeof(double));
  f->number = calloc(count + 1, sizeof(int64_t));
  f->xyz = calloc(3 * values + 1, sizeof(double));
  f->velocity = calloc(3 * values + 1, sizeof(double));
  f->pressure = calloc(values + 1, sizeof(double));
  if (!f->points || !f->number || !f->xyz || !f->velocity || !f->pressure) return 0;
  place_points(f);
  return 1;
}

static void tear_down(flow* f) {
  free(f->points);
  free(f->number);
  free(f->xyz);
  free(f->velocity);
  free(f->pressure);
}

/* Faces stay where they are, and so do the faces that elements have in common. */
static void bend(double* x) {
  const double pi = acos(-1.0);
  const double bump = 0.06 * sin(pi * x[0]) * sin(pi * x[1]) * sin(pi * x[2]);
  x[0] += bump;
  x[1] -= 0.5 * bump;
  x[2] += 0.8 * bump;
}

static void make_mesh(flow* f) {
  const int64_t points = points_of(f);
  for (int64_t e = 0; e < elements(f); ++e) {
    const int64_t number = f->first + e;
    const int64_t corner[3] = {number % f->side, number / f->side % f->side,
                               number / f->side / f->side};
    f->number[e] = number;
    for (int64_t p = 0; p < points; ++p) {
      const int64_t at[3] = {p % f->n, p / f->n % f->n, p / f->n / f->n};
      double x[3];
      for (int d = 0; d < 3; ++d)
        x[d] = ((double)corner[d] + (f->points[at[d]] + 1) / 2) / (double)f->side;
      bend(x);
      for (int d = 0; d < 3; ++d) f->xyz[(3 * e + d) * points + p] = x[d];
    }
  }
}

static void set_fields(flow* f, double time) {
  const int64_t points = points_of(f);
  const double turn = 2 * acos(-1.0), decay = exp(-3 * turn * turn * viscosity * time);
  for (int64_t e = 0; e < elements(f); ++e)
    for (int64_t p = 0; p < points; ++p) {
      const double x = turn * f->xyz[(3 * e + 0) * points + p];
      const double y = turn * f->xyz[(3 * e + 1) * points + p];
      const double z = turn * f->xyz[(3 * e + 2) * points + p];
      f->velocity[(3 * e + 0) * points + p] = decay * sin(x) * cos(y) * cos(z);
      f->velocity[(3 * e + 1) * points + p] = -decay * cos(x) * sin(y) * cos(z);
      f->velocity[(3 * e + 2) * points + p] = 0;
      f->pressure[e * points + p] =
          decay * decay * (cos(2 * x) + cos(2 * y)) * (cos(2 * z) + 2) / 16;
    }
}

static int stop(const char* why) {
  fprintf(stderr, "spectral: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

static int open_session(int order, pillion_session** pil) {
  pillion_options* options;
  char text[16];
  snprintf(text, sizeof text, "%d", order);
  if (pillion_options_create(&options)) return 1;
  const int failed = pillion_options_set(options, "order", text) != 0 ||
                     pillion_open_with("pillion.yaml", MPI_COMM_WORLD, options, pil) != 0;
  pillion_options_free(options);
  return failed;
}

int main(int argc, char** argv) {
  const int64_t side = argc > 1 ? atoll(argv[1]) : 4, steps = argc > 3 ? atoll(argv[3]) : 10;
  const int order = argc > 2 ? atoi(argv[2]) : 5;
  flow f;
  pillion_session* pil;
  MPI_Init(&argc, &argv);
  if (open_session(order, &pil)) return stop(pillion_error_message());
  if (pillion_serve(pil)) return MPI_Finalize();
  if (!set_up(&f, pillion_communicator(pil), side, order)) return stop("there is no memory");
  make_mesh(&f);
  pillion_share_elements(pil, "number", 0, elements(&f), f.number);
  pillion_share_elements(pil, "xyz", 0, elements(&f), f.xyz);
  pillion_share_elements(pil, "velocity", 0, elements(&f), f.velocity);
  pillion_share_elements(pil, "pressure", 0, elements(&f), f.pressure);
  for (int64_t step = 0; step <= steps; ++step) {
    const double time = 0.1 * (double)step;
    set_fields(&f, time);
    if (pillion_step(pil, step, time)) return stop(pillion_error_message());
  }
  if (pillion_close(pil)) return stop(pillion_error_message());
  tear_down(&f);
  MPI_Finalize();
  return 0;
}

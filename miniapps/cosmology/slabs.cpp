// SPDX-License-Identifier: BSD-3-Clause
// FFTW's plans, and what neighbouring slabs send each other.
#include "slabs.hpp"

#include <algorithm>
#include <stdexcept>

namespace cosmology {
namespace {

int64_t real_numbers(int64_t cells, MPI_Comm comm, ptrdiff_t* z, ptrdiff_t* y) {
  return 2 * fftw_mpi_local_size_3d_transposed(cells, cells, cells / 2 + 1, comm, &z[0], &z[1],
                                               &y[0], &y[1]);
}

}  // namespace

Slabs::Slabs(int64_t number, double side, MPI_Comm communicator)
    : comm(communicator), cells(number), length(side) {
  MPI_Comm_rank(comm, &rank);
  ptrdiff_t z[2], y[2];  // how many, and the first
  const int64_t needed = real_numbers(cells, comm, z, y);
  planes = z[0], first = z[1], planes_y_ = y[0], first_y_ = y[1];
  memory_ = std::max(needed, plane() * (planes + 2));

  std::vector<int> mine(cells, 0);
  for (int64_t i = first; i < first + planes; ++i) mine[i] = rank;
  owner.resize(cells);
  MPI_Allreduce(mine.data(), owner.data(), static_cast<int>(cells), MPI_INT, MPI_MAX, comm);

  double* memory = fftw_alloc_real(memory_);
  auto* modes = reinterpret_cast<fftw_complex*>(memory);
  forward_ = fftw_mpi_plan_dft_r2c_3d(cells, cells, cells, memory, modes, comm,
                                      FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
  backward_ = fftw_mpi_plan_dft_c2r_3d(cells, cells, cells, modes, memory, comm,
                                       FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
  fftw_free(memory);
  if (forward_ == nullptr || backward_ == nullptr)
    throw std::runtime_error("FFTW cannot plan transforms of " + std::to_string(cells) +
                             " cells per side");
}

Slabs::~Slabs() {
  fftw_destroy_plan(forward_);
  fftw_destroy_plan(backward_);
}

Mesh::Mesh(const Slabs& slabs) : slabs_(&slabs), values_(fftw_alloc_real(slabs.memory_)) {
  if (!values_) throw std::bad_alloc();
  clear();
}

void Mesh::clear() { std::fill_n(values_.get(), slabs_->memory_, 0.0); }

void Mesh::add_borders() {
  const Slabs& s = *slabs_;
  if (s.planes == 0) return;
  const int64_t size = s.plane();
  const int below = s.owner[(s.first + s.cells - 1) % s.cells];
  const int above = s.owner[(s.first + s.planes) % s.cells];
  std::vector<double> from_below(size), from_above(size);
  MPI_Sendrecv(&at(0, 0, s.planes), static_cast<int>(size), MPI_DOUBLE, above, 0, from_below.data(),
               static_cast<int>(size), MPI_DOUBLE, below, 0, s.comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&at(0, 0, -1), static_cast<int>(size), MPI_DOUBLE, below, 1, from_above.data(),
               static_cast<int>(size), MPI_DOUBLE, above, 1, s.comm, MPI_STATUS_IGNORE);
  double *lowest = &at(0, 0, 0), *highest = &at(0, 0, s.planes - 1);
  for (int64_t i = 0; i < size; ++i) lowest[i] += from_below[i];
  for (int64_t i = 0; i < size; ++i) highest[i] += from_above[i];
}

void Mesh::fill_borders() {
  const Slabs& s = *slabs_;
  if (s.planes == 0) return;
  const auto size = static_cast<int>(s.plane());
  const int below = s.owner[(s.first + s.cells - 1) % s.cells];
  const int above = s.owner[(s.first + s.planes) % s.cells];
  MPI_Sendrecv(&at(0, 0, s.planes - 1), size, MPI_DOUBLE, above, 0, &at(0, 0, -1), size, MPI_DOUBLE,
               below, 0, s.comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&at(0, 0, 0), size, MPI_DOUBLE, below, 1, &at(0, 0, s.planes), size, MPI_DOUBLE,
               above, 1, s.comm, MPI_STATUS_IGNORE);
}

void Mesh::forward() {
  fftw_mpi_execute_dft_r2c(slabs_->forward_, values_.get(),
                           reinterpret_cast<fftw_complex*>(values_.get()));
}

void Mesh::backward() {
  fftw_mpi_execute_dft_c2r(slabs_->backward_, reinterpret_cast<fftw_complex*>(values_.get()),
                           values_.get());
  const double factor = 1 / static_cast<double>(slabs_->total());
  for (int64_t i = 0; i < slabs_->plane() * slabs_->planes; ++i) values_.get()[i] *= factor;
}

}  // namespace cosmology

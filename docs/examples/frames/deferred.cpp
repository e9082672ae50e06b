// SPDX-License-Identifier: BSD-3-Clause
// What is around a block of docs/howto-instrument.md: a program whose framework reads the inputs,
// with as much of AMReX as the block needs.
#include <mpi.h>

#include <pillion/session.hpp>
#include <vector>

namespace amrex {
template <class T>
using Vector = std::vector<T>;
void Initialize(int&, char**&, bool, MPI_Comm) {}
struct ParmParse {
  explicit ParmParse(const char*) {}
  void getarr(const char*, Vector<int>& values) const { values = {16}; }
};
}  // namespace amrex

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  /* block */
  pil.close();
  return MPI_Finalize();
}

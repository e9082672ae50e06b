// SPDX-License-Identifier: BSD-3-Clause
// What is around a block of docs/howto-unstructured.md: a tetrahedron and a pyramid.
#include <mpi.h>

#include <pillion/session.hpp>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::vector<double> xyz(18), heat(2);
  const std::vector<uint8_t> types{10, 14};
  const std::vector<int32_t> offsets{0, 4, 9}, corners{0, 1, 2, 5, 0, 1, 4, 3, 5};
  auto session = pillion::Session::open("pillion.yaml", MPI_COMM_WORLD);
  /* block */
  session.close();
  return MPI_Finalize();
}

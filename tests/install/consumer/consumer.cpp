// SPDX-License-Identifier: BSD-3-Clause
// A C++ program that found Pillion by find_package. Usage: FILE BUILD_TREE OUTPUT
#include <cstdio>
#include <pillion/session.hpp>
#include <vector>

#include "loaded.h"

namespace {

bool run(const char* file, const char* build, const char* output) {
  auto session =
      pillion::Session::open(file, MPI_COMM_WORLD, pillion::Options().set("output", output));
  int rank = 0, ranks = 1;
  MPI_Comm_rank(session.communicator(), &rank);
  MPI_Comm_size(session.communicator(), &ranks);
  const int64_t lo = 12 * rank / ranks, hi = 12 * (rank + 1) / ranks;
  std::vector<double> height;
  for (int64_t i = lo; i < hi; ++i) height.push_back(i % 2 == 0 ? 1.0 : -1.0);
  session.share("height", height, pillion::Box({lo}, {hi}));
  for (int64_t step = 0; step < 4; ++step) session.step(step, static_cast<double>(step));
  const bool clean = loaded_from(build) == 0 && session.progress().disabled == 0;
  session.close();
  return clean;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool good = false;
  try {
    good = argc == 4 && run(argv[1], argv[2], argv[3]);
  } catch (const pillion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  if (!good) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}

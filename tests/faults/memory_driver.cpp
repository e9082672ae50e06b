// SPDX-License-Identifier: BSD-3-Clause
// A simulation whose last rank runs out of memory inside pillion_step, or a RANK of the job inside
// pillion_open, for test_contained.py: its K-th allocation there fails, in one session after
// another, for K = 1, 1 + STRIDE, ... until it needs no more than that. No step may fail, all ranks
// open a session or none does, no rank may wait for ever, and every session that was opened must
// close.
//   memory_driver CONFIG STRIDE step|RANK
#include <mpi.h>
#include <pillion/pillion.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <string_view>

namespace {

// On the thread of the simulation only. 0: none fails.
thread_local long countdown = 0;

}  // namespace

void* operator new(size_t size) {
  if (countdown > 0 && --countdown == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

void expect(pillion_status status, const char* call, long k) {
  if (status != PILLION_OK)
    std::printf("allocation %ld: %s: %s\n", k, call, pillion_error_message());
}

/// A publication that one rank could not make is dropped, and no other.
void expect_one_dropped(const std::string& report, long k) {
  std::ifstream in(report);
  const std::string key = "\"dropped\": ";
  for (std::string line; std::getline(in, line);)
    if (const auto at = line.find(key); at != std::string::npos)
      if (const long dropped = std::atol(line.c_str() + at + key.size()); dropped > 1)
        std::printf("allocation %ld: %ld publications were dropped\n", k, dropped);
}

/// Whether an allocation failed.
bool fail_one(const char* file, long k) {
  pillion_session* session = nullptr;
  expect(pillion_open(file, MPI_COMM_WORLD, &session), "open", k);
  if (pillion_serve(session) != 0) return false;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(pillion_communicator(session), &rank);
  MPI_Comm_size(pillion_communicator(session), &ranks);
  const double density[32] = {};
  const int64_t lo[2] = {8 * rank / ranks, 0}, hi[2] = {8 * (rank + 1) / ranks, 4};
  expect(pillion_share_box_typed(session, "density", 0, lo, hi, density, 0), "share", k);
  expect(pillion_step(session, 0, 0), "step 0", k);
  if (rank == ranks - 1) countdown = k;
  const auto status = pillion_step(session, 1, 0.1);
  const bool failed = rank == ranks - 1 && countdown == 0;
  countdown = 0;
  expect(status, "step 1", k);
  expect(pillion_step(session, 2, 0.2), "step 2", k);
  const std::string report = pillion_report_path(session);
  expect(pillion_close(session), "close", k);
  if (rank == 0) expect_one_dropped(report, k);
  return failed;
}

/// The same inside pillion_open.
bool fail_open(const char* file, long k, int victim) {
  pillion_session* session = nullptr;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == victim) countdown = k;
  const auto status = pillion_open(file, MPI_COMM_WORLD, &session);
  const bool failed = rank == victim && countdown == 0;
  countdown = 0;
  int open = status == PILLION_OK ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &open, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (open != 0 && open != ranks) {
    if (rank == 0) std::printf("allocation %ld: %d of %d ranks opened\n", k, open, ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (open > 0 && pillion_serve(session) == 0) expect(pillion_close(session), "close", k);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long stride = std::atol(argv[2]);
  const bool in_step = std::string_view(argv[3]) == "step";
  long k = 1;
  for (int more = 1; more != 0; k += stride) {
    more = (in_step ? fail_one(argv[1], k) : fail_open(argv[1], k, std::atoi(argv[3]))) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%ld sessions\n", k / stride);
  MPI_Finalize();
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// The communicators of this process, which last as long as MPI.
#include "comm/lasting.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/agreement.hpp"

namespace pillion::comm {

namespace {

struct Lasting {
  MPI_Comm handle = MPI_COMM_NULL;
  int64_t number = 0;  ///< the same on all of its ranks, and no other communicator's on any
  bool is_taken = false;
};

/// All of the process. Sessions on other ranks may have had some of them: ranks of a new session
/// may have different ones.
struct All {
  std::mutex mutex;
  std::vector<Lasting> list;
  int64_t made = 0;
  std::unique_ptr<AtFinalize> at_finalize;
};

// Never destroyed: MPI_Finalize may come after the destructors of static objects.
All& all() {
  static auto& of_process = *new All;
  return of_process;
}

void free_all() {
  for (auto& one : all().list) MPI_Comm_free(&one.handle);
  all().list.clear();
}

bool is_free_for(const Lasting& one, const Communicator& ranks) {
  if (one.is_taken) return false;
  int result = MPI_UNEQUAL;
  check(MPI_Comm_compare(one.handle, ranks.handle(), &result), "MPI_Comm_compare");
  return result == MPI_CONGRUENT;
}

/// A number that no other rank gives.
int64_t new_number() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return (static_cast<int64_t>(rank) << 32) + ++all().made;
}

/// What the first rank says.
int64_t of_first(const Communicator& ranks, int64_t number) {
  ranks.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

}  // namespace

MPI_Comm take_lasting(const Communicator& ranks) {
  auto& [mutex, list, made, at_finalize] = all();
  const std::lock_guard lock(mutex);
  together(ranks, [&, &list = list, &at_finalize = at_finalize] {
    list.reserve(list.size() + 1);
    if (!at_finalize) at_finalize = std::make_unique<AtFinalize>(free_all);
  });
  const auto find = [&, &list = list](auto&& fits) {
    return std::find_if(list.begin(), list.end(), fits);
  };
  const auto mine = find([&](const Lasting& one) { return is_free_for(one, ranks); });
  const auto number = of_first(ranks, mine == list.end() ? 0 : mine->number);
  const auto agreed =
      find([&](const Lasting& one) { return one.number == number && is_free_for(one, ranks); });
  if (ranks.reduced<int32_t>(agreed == list.end() ? 0 : 1, Operation::Min) != 0) {
    agreed->is_taken = true;
    return agreed->handle;
  }
  Lasting one{.handle = MPI_COMM_NULL, .number = of_first(ranks, new_number()), .is_taken = true};
  check(MPI_Comm_dup(ranks.handle(), &one.handle), "MPI_Comm_dup");
  list.push_back(one);
  return one.handle;
}

void give_back_lasting(MPI_Comm comm) noexcept {
  auto& list = all().list;
  const std::lock_guard lock(all().mutex);
  for (auto& one : list)
    if (one.handle == comm) one.is_taken = false;
}

bool is_mpi_running() {
  int initialised = 0, finalized = 0;
  check(MPI_Initialized(&initialised), "MPI_Initialized");
  check(MPI_Finalized(&finalized), "MPI_Finalized");
  return initialised != 0 && finalized == 0;
}

}  // namespace pillion::comm

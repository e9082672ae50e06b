// SPDX-License-Identifier: BSD-3-Clause
// Stands in for src/layout/copy_region.cpp and for the allocation of large arrays, so that the
// library's redistribution runs as it is on data far larger than this machine's memory.
#include "simulated.hpp"

#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <unordered_map>

#include "layout/copy_region.hpp"

namespace {

constexpr size_t large = size_t{1} << 18;
constexpr double flops_per_second = 1e9;  // as in the platform

/// By size. Nothing is in them, so that one serves all ranks.
std::map<size_t, void*>& bogus() {
  static auto* all = new std::map<size_t, void*>;
  return *all;
}

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

std::unordered_map<int, double>& copied() {
  static auto* all = new std::unordered_map<int, double>;
  return *all;
}

}  // namespace

void study::spend_copying(size_t bytes) {
  const double seconds = static_cast<double>(bytes) / copy_rate;
  copied()[world_rank()] += seconds;
  smpi_execute_flops(seconds * flops_per_second);
}

double study::seconds_copied() {
  double& mine = copied()[world_rank()];
  const double seconds = mine;
  mine = 0;
  return seconds;
}

double study::begin_together() {
  constexpr double skew = 2e-2;  // more than ranks differ in leaving a barrier
  static double instant = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (const double now = MPI_Wtime(); now > instant) instant = now + skew;
  smpi_execute_flops(std::max(instant - MPI_Wtime(), 0.0) * flops_per_second);
  return instant;
}

void pillion::layout::copy_region(const Target&, const Source&, const model::Box& region,
                                  const std::array<int64_t, 3>&, int32_t components,
                                  size_t element) {
  study::spend_copying(static_cast<size_t>(region.volume() * components) * element);
}

// Messages from and to such memory are timed and not copied.
void* operator new[](size_t size) {
  if (size < large) {
    if (void* plain = std::malloc(size)) return plain;
    throw std::bad_alloc();
  }
  void*& shared = bogus()[size];
  if (shared == nullptr) shared = SMPI_SHARED_MALLOC(size);
  if (shared == nullptr) throw std::bad_alloc();
  return shared;
}

void operator delete[](void* memory) noexcept {
  const auto holds = [&](const auto& entry) { return entry.second == memory; };
  if (std::none_of(bogus().begin(), bogus().end(), holds)) std::free(memory);
}

void operator delete[](void* memory, size_t) noexcept { operator delete[](memory); }

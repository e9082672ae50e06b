// SPDX-License-Identifier: BSD-3-Clause
// Plans that cannot be made, because one rank has no memory for one of the things that it needs.
#include "stagehost/plans.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "comm/agreement.hpp"

namespace {

/// Allocations of this thread until one fails; none does while it is negative.
thread_local int64_t allocations_left = -1;
thread_local bool has_failed = false;

void* allocate(size_t size, size_t alignment) {
  if (allocations_left == 0) {
    allocations_left = -1;
    has_failed = true;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
  void* at = alignment > alignof(std::max_align_t)
                 ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                 : std::malloc(size == 0 ? 1 : size);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, 1); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return allocate(size, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, size_t, std::align_val_t) noexcept { std::free(at); }

using namespace pillion;
using namespace pillion::stagehost;

TEST_CASE("a plan for which one rank lacks memory fails on all ranks, whatever it is that lacks") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() > 2) return;  // two ranks show it, and many take long
  comm::Fence fence(world);
  model::Mesh mesh;
  mesh.name = "grid";
  mesh.cells = {16, 16, 8 * world.size()};
  const std::vector<model::Box> here{{{0, 0, 8 * world.rank()}, {16, 16, 8 * (world.rank() + 1)}}};
  for (const auto kind : {layout::Kind::Pencils, layout::Kind::PowersOfTwo}) {
    layout::Request request;
    request.kind = kind;
    for (int rank = 0; rank < world.size(); ++rank) {
      int64_t failed = 1;
      for (int64_t n = 0; failed != 0; ++n) {
        Plans plans;
        has_failed = false;
        const auto failure = fence.run([&] {
          if (rank == world.rank()) allocations_left = n;
          (void)plans.make(request, mesh, here, sizeof(double), world);
          allocations_left = -1;
        });
        allocations_left = -1;
        failed = world.reduced<int32_t>(has_failed ? 1 : 0, comm::Operation::Max);
        // Sorting does with less where it gets no memory.
        if (failed == 0) CHECK_FALSE(failure);
        const int32_t failures = failure ? 1 : 0;
        CHECK(world.reduced(failures, comm::Operation::Sum) == failures * world.size());
        REQUIRE(n < 2000);
      }
    }
  }
}

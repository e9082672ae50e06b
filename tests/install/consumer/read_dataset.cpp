// SPDX-License-Identifier: BSD-3-Clause
// Reads a dataset with the library that comes with Pillion, and needs no MPI for it.
#include <cstdio>
#include <pillion/idx/reader.hpp>

int main(int, char** words) {
  // [example]
  const pillion::idx::Reader reader(words[1]);
  const auto& dataset = reader.dataset();
  const pillion::idx::Query query{.field = reader.field_named("density"),
                                  .step = reader.steps().back(),
                                  .lo = dataset.lo,
                                  .hi = dataset.hi};
  pillion::idx::Refinement found(reader, query);
  for (int level = 0; level <= dataset.finest(); ++level) {
    found.refine(level);  // coarse to fine; found.values() are those of found.grid()
    std::printf("%d: %zu bytes\n", level, found.values().size());
  }
  // [example]
  for (const std::byte value : found.values())
    if (value != std::byte{7}) return 1;
  return found.values().size() == 15 ? 0 : 2;
}

// SPDX-License-Identifier: BSD-3-Clause
// How many files a step of an IDX dataset has, and who puts its blocks together.
#include <doctest/doctest.h>

#include <map>

#include "write/idx/block_plan.hpp"

using namespace pillion::stages::write_idx;

TEST_CASE("files have 32 MiB at least, and there are 512 at most, whatever the number of ranks") {
  constexpr int64_t mib = int64_t{1} << 20, block = mib / 4;
  const auto files = [](int64_t of_box, int64_t blocks, int64_t bytes) {
    const int64_t in_file = usual_blocks_per_file(of_box, blocks, bytes);
    return (blocks + in_file - 1) / in_file;
  };
  CHECK(files(1, 4, block) == 1);          // 1 MiB
  CHECK(files(1, 512, block) == 4);        // 128 MiB
  CHECK(files(1024, 4096, block) == 4);    // 256 MiB of each box
  CHECK(files(1, 1 << 16, block) == 512);  // 16 GiB: that of 131,072 small boxes
  CHECK(files(4, 1 << 22, block) == 512);  // 1 TiB
  CHECK(files(1, 1, 2048 * mib) == 1);     // not less than a block
  for (const int64_t blocks : {1, 7, 100, 4097, 131072 * 5})
    for (const int64_t of_box : {1, 2, 64}) {
      const int64_t in_file = usual_blocks_per_file(of_box, blocks, block);
      CHECK(files(of_box, blocks, block) <= 512);
      CHECK((in_file >= blocks || in_file * block >= 32 * mib));
    }
}

TEST_CASE("aggregators are spread over the ranks and have equally many blocks") {
  constexpr size_t ranks = 131072;
  const Aggregators aggregators{512, ranks, 1 << 16};
  std::map<size_t, int64_t> blocks;
  for (int64_t block = 0; block < 1 << 16; ++block) ++blocks[aggregators.of(block)];
  CHECK(blocks.size() == 512);
  size_t before = 0;
  for (const auto& [rank, count] : blocks) {
    CHECK(count == 128);
    CHECK(rank < ranks);
    CHECK((rank == 0 || rank - before == ranks / 512));
    before = rank;
  }
}

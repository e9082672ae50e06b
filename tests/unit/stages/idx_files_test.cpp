// SPDX-License-Identifier: BSD-3-Clause
// How many files a step of an IDX dataset has, who writes them, and how much a writer receives at a
// time.
#include <doctest/doctest.h>

#include <map>

#include "write/idx/block_plan.hpp"
#include "write/idx/write_rounds.hpp"

using namespace pillion::stages;
using namespace pillion::stages::write_idx;

namespace {

constexpr int64_t mib = int64_t{1} << 20, gib = mib << 10;

/// Of a step of so many bytes in blocks of such a size, both powers of two.
int64_t files_of(int64_t bytes, int64_t block) {
  const int64_t blocks = std::max<int64_t>(bytes / block, 1);
  const int64_t in_file = usual_blocks_per_file(bytes, blocks, block);
  return (blocks + in_file - 1) / in_file;
}

Bytes filled(size_t size, size_t seed) {
  Bytes out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>((i * 7 + seed) % 251);
  return out;
}

}  // namespace

TEST_CASE("the number of files follows from the data and a target size") {
  const int64_t block = mib / 4;
  CHECK(files_of(mib, block) == 1);
  CHECK(files_of(128 * mib, block) == 4);  // of 32 MiB
  CHECK(files_of(512 * mib, block) == 16);
  CHECK(files_of(4 * gib, block) == 16);    // of 256 MiB
  CHECK(files_of(64 * gib, block) == 256);  // of 256 MiB
  CHECK(files_of(1024 * gib, block) == 512);
  CHECK(files_of(2 * gib, 2 * gib) == 1);  // not less than a block
  // Boxes, and so blocks, are larger on fewer ranks. That changes nothing.
  for (const int64_t other : {mib / 64, mib / 16, mib, 4 * mib})
    for (const int64_t bytes : {mib, 128 * mib, gib, 8 * gib, 1024 * gib})
      CHECK(files_of(bytes, other) == files_of(bytes, block));
  // Of a mesh that fills an eighth of its bitmask.
  const int64_t in_file = usual_blocks_per_file(gib, 8 * gib / block, block);
  CHECK(in_file * block == 64 * mib);
}

TEST_CASE("131,072 ranks write 16 to 512 files") {
  constexpr int64_t ranks = 131072;
  for (const int64_t side : {8, 16, 32, 64, 128, 256})
    for (const int64_t bytes_per_cell : {8, 128}) {
      CAPTURE(side);
      const int64_t cells = side * side * side;
      const int64_t block = std::max<int64_t>(cells / 16, 256) * bytes_per_cell;
      const int64_t files = files_of(ranks * cells * bytes_per_cell, block);
      CHECK(files >= 16);
      CHECK(files <= 512);
    }
  CHECK(files_of(ranks * 64 * 64 * 64 * 8, 64 * 64 * 64 / 16 * 8) == 512);
}

TEST_CASE("no file is opened by more than 16 ranks, and writers are spread over the ranks") {
  for (const int64_t files : {1, 16, 512})
    for (const size_t peers : {1, 4, 16, 17, 64, 256, 8192, 8193, 131072}) {
      const auto writers = usual_writers(peers, files);
      CAPTURE(files);
      CAPTURE(peers);
      CHECK(writers.gathers() == (peers > 16 * static_cast<size_t>(files)));
      std::map<size_t, int64_t> of_peer;
      for (int64_t file = 0; file < files; ++file) ++of_peer[writers.of(file)];
      const int64_t spread = std::min<int64_t>(files, static_cast<int64_t>(peers));
      CHECK(of_peer.size() == static_cast<size_t>(spread));
      CHECK(of_peer.rbegin()->first < peers);
      // What each peer believes to be its files is what the others believe.
      std::map<size_t, int64_t> own;
      for (size_t peer = 0; peer < peers; ++peer)
        writers.for_each_file(peer, files, [&](int64_t file) {
          ++own[peer];
          if (writers.of(file) != peer) FAIL("a file of another peer");
        });
      CHECK(own == of_peer);
    }
  const FileWriters three{3, 8};
  CHECK(three.of(0) == 0);
  CHECK(three.of(1) == 2);
  CHECK(three.of(2) == 5);
  CHECK(three.of(3) == 0);
  CHECK(three.turn(2) == 0);
  CHECK(three.turn(3) == 1);
}

TEST_CASE("a writer receives a bounded number of bytes in a round, and all of them in the end") {
  constexpr size_t peers = 64;
  constexpr int64_t files = 6, file_bytes = 10000, block = 777, round_bytes = 1024;
  const FileWriters writers{2, peers};
  std::vector<WriteRounds> rounds(peers, WriteRounds(writers, file_bytes, round_bytes));
  // Blocks of all files, dealt to the peers in turn.
  size_t next = 0;
  for (int64_t file = 0; file < files; ++file)
    for (int64_t at = 100; at + block <= file_bytes; at += block, ++next) {
      const auto bytes = filled(block, next);
      rounds[next % peers].put(file, at, bytes);
    }
  std::map<std::pair<int64_t, int64_t>, std::byte> written;
  while (true) {
    int64_t round = WriteRounds::none;
    for (const auto& peer : rounds) round = std::min(round, peer.next());
    if (round == WriteRounds::none) break;
    std::map<size_t, int64_t> received;
    for (auto& peer : rounds)
      for (const auto& [writer, message] : peer.take(round)) {
        int64_t head[3];
        for (size_t at = 0; at < message.size(); at += static_cast<size_t>(head[2])) {
          std::memcpy(head, message.data() + at, sizeof head);
          at += sizeof head;
          CHECK(writers.of(head[0]) == writer);
          received[writer] += head[2];
          for (int64_t i = 0; i < head[2]; ++i)
            REQUIRE(
                written
                    .emplace(std::pair(head[0], head[1] + i), message[at + static_cast<size_t>(i)])
                    .second);
        }
      }
    for (const auto& [writer, bytes] : received) CHECK(bytes <= round_bytes);
  }
  next = 0;
  for (int64_t file = 0; file < files; ++file)
    for (int64_t at = 100; at + block <= file_bytes; at += block, ++next) {
      const auto bytes = filled(block, next);
      for (int64_t i = 0; i < block; ++i)
        REQUIRE(written.at({file, at + i}) == bytes[static_cast<size_t>(i)]);
    }
  CHECK(written.size() == next * block);
}

TEST_CASE("what a writer receives in a round depends on the data of a rank, within limits") {
  CHECK(usual_round_bytes(int64_t{131072} * 2 * mib, 131072) == mib);
  CHECK(usual_round_bytes(int64_t{131072} * 32 * mib, 131072) == 8 * mib);
  CHECK(usual_round_bytes(int64_t{131072} * gib, 131072) == 16 * mib);
  CHECK(usual_round_bytes(0, 4) == mib);
}

TEST_CASE("blocks that several ranks have parts of are dealt out evenly") {
  constexpr size_t ranks = 512;
  const BlockOwners owners{ranks, 1 << 16};
  std::map<size_t, int64_t> blocks;
  for (int64_t block = 0; block < 1 << 16; ++block) ++blocks[owners.of(block)];
  CHECK(blocks.size() == ranks);
  for (const auto& [rank, count] : blocks) CHECK(count == 128);
  CHECK(BlockOwners{131072, 4}.of(3) == 98304);
}

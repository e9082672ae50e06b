// SPDX-License-Identifier: BSD-3-Clause
// What the two drivers share: their arguments, and a run over the frames of a file as a simulation
// would do it, through the C interface. How a frame's elements are shared is up to each driver.
#pragma once

#include <mpi.h>
#include <pillion/pillion.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "frames.hpp"

namespace conformance {

/// --name value pairs.
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
      const std::string name = argv[i];
      if (name.rfind("--", 0) != 0) throw std::runtime_error("expected --name, not " + name);
      values_[name.substr(2)] = argv[i + 1];
    }
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& standard = {}) const {
    const auto at = values_.find(name);
    return at == values_.end() ? standard : at->second;
  }
  [[nodiscard]] int64_t integer(const std::string& name, int64_t standard) const {
    const auto at = values_.find(name);
    return at == values_.end() ? standard : std::stoll(at->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

/// Throws what a call that failed has said.
inline void check(pillion_status status) {
  if (status != PILLION_OK)
    throw std::runtime_error("status " + std::to_string(status) + ": " + pillion_error_message());
}

/// Pseudo-random but the same on every rank and machine (SplitMix64).
inline uint64_t scatter(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + a * 0xd1b54a32d192ed03u + b + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// One rank of the simulation that is played.
struct Player {
  pillion_session* session = nullptr;
  int rank = 0, ranks = 1;
  std::string decomposition;
  uint64_t seed = 0;
};

inline Player open(const Arguments& arguments) {
  Player player;
  player.decomposition = arguments.text("decomposition", "slabs");
  player.seed = static_cast<uint64_t>(arguments.integer("seed", 1));
  check(pillion_open(arguments.text("config").c_str(), MPI_COMM_WORLD, &player.session));
  return player;
}

/// Before frame --meet-at, or after the last: says in a file that it is here, and goes on when the
/// test has written the file --meet.
inline void meet(const Player& player, const Arguments& arguments, int64_t number) {
  const auto path = arguments.text("meet");
  if (path.empty() || number != arguments.integer("meet-at", 0)) return;
  if (player.rank == 0) std::ofstream(path + ".here");
  for (int n = 0; !std::ifstream(path); ++n) {
    if (n == 6000) throw std::runtime_error("nobody came to " + path);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Plays frames [--from, --to); `share(player, frames, number)` shares one of them. With
/// --checkpoint PATH the stages' state is saved after the last.
template <class Share>
void play(Player& player, const Frames& all, const Arguments& arguments, Share&& share) {
  MPI_Comm_rank(pillion_communicator(player.session), &player.rank);
  MPI_Comm_size(pillion_communicator(player.session), &player.ranks);
  const auto count = static_cast<int64_t>(all.frames.size());
  const int64_t end = arguments.integer("to", count);
  for (int64_t n = arguments.integer("from", 0); n < end; ++n) {
    meet(player, arguments, n);
    const Frame& frame = all.frames[static_cast<size_t>(n)];
    share(player, all, n);
    check(pillion_step(player.session, frame.step, frame.time));
  }
  meet(player, arguments, end);
  const auto path = arguments.text("checkpoint");
  if (!path.empty()) check(pillion_checkpoint(player.session, path.c_str()));
  check(pillion_close(player.session));
}

/// The whole program. A failure is said on standard error, with the rank, and is status 3, or
/// --failure-status: launchers take their time over programs that fail.
template <class Share>
int main_of(int argc, char** argv, Share&& share) {
  MPI_Init(&argc, &argv);
  int world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  int64_t status = 0;
  const Arguments arguments(argc, argv);
  try {
    const auto frames = FrameReader(arguments.text("frames")).read();
    Player player = open(arguments);
    if (pillion_serve(player.session) == 0) play(player, frames, arguments, share);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "driver rank %d: %s\n", world, e.what());
    status = arguments.integer("failure-status", 3);
  }
  MPI_Finalize();
  return static_cast<int>(status);
}

}  // namespace conformance

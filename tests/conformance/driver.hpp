// SPDX-License-Identifier: BSD-3-Clause
// What the two drivers share: their arguments, and runs over the frames of a file as a simulation
// would do them, through the C interface. How a frame's elements are shared is up to each driver.
// With --cases FILE one launch plays several cases, one session after the other.
#pragma once

#include <mpi.h>
#include <pillion/pillion.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "frames.hpp"

namespace conformance {

/// --name value pairs.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& words) {
    for (size_t i = 0; i + 1 < words.size(); i += 2) {
      if (words[i].rfind("--", 0) != 0)
        throw std::runtime_error("expected --name, not " + words[i]);
      values_[words[i].substr(2)] = words[i + 1];
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

/// Plays frames [--from, --to); the shelf shares each of them. With --checkpoint PATH the stages'
/// state is saved after the last.
template <class Shelf>
void play(Player& player, const Frames& all, const Arguments& arguments, Shelf& shelf) {
  MPI_Comm_rank(pillion_communicator(player.session), &player.rank);
  MPI_Comm_size(pillion_communicator(player.session), &player.ranks);
  const auto count = static_cast<int64_t>(all.frames.size());
  const int64_t end = arguments.integer("to", count);
  for (int64_t n = arguments.integer("from", 0); n < end; ++n) {
    meet(player, arguments, n);
    const Frame& frame = all.frames[static_cast<size_t>(n)];
    shelf.share(player, all, n);
    check(pillion_step(player.session, frame.step, frame.time));
  }
  meet(player, arguments, end);
  const auto path = arguments.text("checkpoint");
  if (!path.empty()) check(pillion_checkpoint(player.session, path.c_str()));
  check(pillion_close(player.session));
}

/// One session on all ranks, from open to close.
template <class Shelf>
void run_case(const Arguments& arguments) {
  const auto frames = FrameReader(arguments.text("frames")).read();
  Shelf shelf(arguments);
  Player player = open(arguments);
  if (pillion_serve(player.session) == 0) play(player, frames, arguments, shelf);
}

/// The cases of a file: one per line, words separated by tabs.
inline std::vector<Arguments> read_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  std::vector<Arguments> cases;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> words;
    std::istringstream rest(line);
    for (std::string word; std::getline(rest, word, '\t');) words.push_back(word);
    cases.emplace_back(words);
  }
  return cases;
}

/// Plays each case and then writes its file --done, so that the test knows which cases came
/// through if a later one ends the launch.
template <class Shelf>
void run_cases(const std::string& path, int world_rank) {
  for (const auto& arguments : read_cases(path)) {
    run_case<Shelf>(arguments);
    // Sidecars return from pillion_serve on their own: all ranks have closed the session when all
    // have come here.
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) std::ofstream(arguments.text("done"));
  }
}

/// The whole program. A failure is said on standard error, with the rank, and is status 3, or
/// --failure-status: launchers take their time over programs that fail.
template <class Shelf>
int main_of(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  int64_t status = 0;
  const Arguments arguments(std::vector<std::string>(argv + 1, argv + argc));
  const auto cases = arguments.text("cases");
  try {
    if (cases.empty()) run_case<Shelf>(arguments);
    else run_cases<Shelf>(cases, world);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "driver rank %d: %s\n", world, e.what());
    status = arguments.integer("failure-status", 3);
    // The other ranks may be in the barrier after a case, or in the next case.
    if (!cases.empty()) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return static_cast<int>(status);
}

}  // namespace conformance

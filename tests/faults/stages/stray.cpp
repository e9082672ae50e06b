// SPDX-License-Identifier: BSD-3-Clause
// A stage that writes random words over all that its process can write to of the memory that it
// shares with the simulation, at every publication, and leaves them there. Some end this process: a
// successor continues, with other words.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <pillion/stage.hpp>
#include <random>
#include <string>

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"field", "field", "density", "what to read"},
    {"seed", "integer", "1", "of the random words"},
    {"words", "integer", "20", "how many at each publication"},
};

struct Range {
  volatile uint64_t* begin = nullptr;
  size_t words = 0;
};

/// The pages of the segment that this process may write: it has no name, unlike memory of MPI.
Range find_pages() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (line.find("/dev/shm/#") == std::string::npos || std::string(access) != "rw-s") continue;
    return {reinterpret_cast<volatile uint64_t*>(begin), (end - begin) / sizeof(uint64_t)};
  }
  return {};
}

class Stray : public Stage {
 public:
  explicit Stray(Setup& setup)
      : random_(static_cast<uint64_t>(setup["seed"].integer()) << 32 |
                static_cast<uint64_t>(getpid())),
        words_(setup["words"].integer()) {
    (void)setup.input(Input::as_shared({setup["field"].text()}));
  }

  void run(Step& step) override {
    const Range pages = find_pages();
    if (pages.begin == nullptr) throw std::runtime_error("no shared pages are writable");
    constexpr size_t control = (size_t{64} << 10) / sizeof(uint64_t);
    for (int64_t n = 0; n < words_; ++n) {
      // Most of them go to the words that the simulation reads.
      const size_t at = n % 4 == 0 ? random_() % pages.words : control + random_() % 8;
      const int bits = static_cast<int>(random_() % 64);
      pages.begin[at] = random_() >> bits;
    }
    std::ofstream("stray-words", std::ios::app) << words_ << '\n';
    int64_t one = 1;
    step.sum(std::span(&one, 1));
  }

 private:
  std::mt19937_64 random_;
  int64_t words_;
};

}  // namespace

PILLION_STAGE(Stray, "stray", "Writes where it should not.", parameters)

// SPDX-License-Identifier: BSD-3-Clause
// A stage that writes one wrong word at a time into the memory that its process shares with the
// simulation, and puts the right one back before it returns. While the word is wrong the simulation
// takes steps. It covers all words that it may write, except message records and the requests of
// attached jobs. Some wrong words end this process: a successor continues with the next word, which
// is noted in a file.
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <pillion/stage.hpp>
#include <string>
#include <thread>

#include "node/channel.hpp"

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"field", "field", "density", "what to read"},
    {"milliseconds", "integer", "3", "how long a word stays wrong"},
    {"stride", "integer", "1", "every how many words behind the first"},
};

struct Range {
  std::atomic<uint64_t>* begin = nullptr;
  size_t words = 0;
};

/// The pages of the segment that this process may write.
Range find_control() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (line.find("/dev/shm/") == std::string::npos || std::string(access) != "rw-s") continue;
    if (std::memcmp(reinterpret_cast<const void*>(begin), "pillion", 8) != 0) continue;
    return {reinterpret_cast<std::atomic<uint64_t>*>(begin), (end - begin) / sizeof(uint64_t)};
  }
  return {};
}

/// The header, and what is written once in a channel.
constexpr size_t all_of_them = 64;

/// The header and one channel, which have words of all kinds.
size_t words_to_spoil() {
  using pillion::node::ChannelWords;
  return (256 + offsetof(ChannelWords, records)) / sizeof(uint64_t);
}

class Stray : public Stage {
 public:
  explicit Stray(Setup& setup)
      : milliseconds_(setup["milliseconds"].integer()), stride_(setup["stride"].integer()) {
    (void)setup.input(Input::as_shared({setup["field"].text()}));
  }

  void run(Step& step) override {
    const Range control = find_control();
    const size_t last = std::min(control.words, words_to_spoil());
    const size_t next = noted();
    if (control.begin != nullptr && next < last) {
      note(next + (next < all_of_them ? 1 : static_cast<size_t>(stride_)));
      auto& word = control.begin[next];
      const uint64_t right = word.load();
      const uint64_t wrong = right ^ (uint64_t{1} << 40 | 0x5a);
      word.store(wrong);
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_));
      uint64_t expected = wrong;
      word.compare_exchange_strong(expected, right);
    }
    int64_t one = 1;
    step.sum(std::span(&one, 1));
  }

 private:
  static constexpr const char* note_ = "next-word";
  static size_t noted() {
    size_t next = 0;
    std::ifstream(note_) >> next;
    return next;
  }
  static void note(size_t next) { std::ofstream(note_) << next << std::endl; }

  int64_t milliseconds_, stride_;
};

}  // namespace

PILLION_STAGE(Stray, "stray", "Writes where it should not.", parameters)

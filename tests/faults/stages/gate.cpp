// SPDX-License-Identifier: BSD-3-Clause
// A stage that does not finish its first publication before a file is there. As soon as it has
// begun with that, it makes the file FILE.here, and when it has finished, FILE.grown: how many
// bytes of private memory its process has more than before.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <pillion/stage.hpp>
#include <thread>

#include "../memory_use.hpp"

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"field", "field", "density", "what to read"},
    {"file", "text", "open", "the file that it waits for"},
};

class Gate : public Stage {
 public:
  explicit Gate(Setup& setup) : file_(setup["file"].text()) {
    input_ = setup.input(Input::as_shared({setup["field"].text()}));
  }

  // Bounded, so that a test that fails leaves no process behind.
  void run(Step& step) override {
    if (std::exchange(is_open_, true) || step.peer() != 0) return;
    constexpr std::chrono::milliseconds nap(2);
    const int64_t before = faults::memory_use().at("anonymous");
    std::ofstream(file_ + ".here");
    for (int n = 0; n < 30'000 && !std::filesystem::exists(file_); ++n)
      std::this_thread::sleep_for(nap);
    std::ofstream(file_ + ".grown") << 1024 * (faults::memory_use().at("anonymous") - before);
  }

 private:
  std::string file_;
  int32_t input_ = 0;
  bool is_open_ = false;
};

}  // namespace

PILLION_STAGE(Gate, "gate", "Waits for a file.", parameters)

// SPDX-License-Identifier: BSD-3-Clause
// A stage that does what it should not, when it is told to: throws on one peer or on all, leaves
// the others in a reduction, is slow, cannot be created. Otherwise it counts publications and
// writes which steps it saw, so that a test can tell what arrived.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <pillion/stage.hpp>
#include <thread>

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"field", "field", "density", "what to read"},
    {"fail_at", "step", "-1", "the step at which to throw"},
    {"fail_on", "peer", "-1", "the peer that throws; -1 is all"},
    {"how", "text", "exception",
     "exception, number, memory, calls, or starve: take all but 16 MiB"},
    {"create", "text", "well", "'badly' fails in the constructor"},
    {"milliseconds", "integer", "0", "how long each publication takes"},
    {"late_on", "peer", "-1", "the peer for which alone it takes that long; -1 is all"},
};

class Trouble : public Stage {
 public:
  explicit Trouble(Setup& setup)
      : fail_at_(setup["fail_at"].integer()),
        fail_on_(setup["fail_on"].integer()),
        how_(setup["how"].text()),
        pause_(setup["milliseconds"].integer()),
        late_on_(setup["late_on"].integer()) {
    if (setup["create"].text() == "badly") setup["create"].fail("this stage was told to fail");
    input_ = setup.input(Input::as_shared({setup["field"].text()}));
  }

  void run(Step& step) override {
    if (late_on_ < 0 || late_on_ == step.peer())
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_));
    int64_t cells = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) cells += step.block(input_, b).count();
    if (step.index() == fail_at_ && (fail_on_ < 0 || fail_on_ == step.peer())) {
      if (how_ == "calls") return;
      if (how_ == "starve") return starve();
      fail();
    }
    step.sum(std::span(&cells, 1));
    steps_.push_back(step.index());
    cells_.push_back(cells);
  }

  void finish(Step& step) override {
    step.write(Table("seen").column("step", "", steps_).column("cells", "", cells_));
  }

 private:
  /// From now on the process can have little more memory than it has.
  static void starve() {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto bytes = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    const rlimit limit{bytes + (rlim_t{16} << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
  }
  void fail() const {
    if (how_ == "number") throw 42;
    if (how_ == "memory") throw std::bad_alloc();
    throw pillion::Error(pillion::ErrorCode::Stage, "this stage was told to throw");
  }
  int64_t fail_at_, fail_on_;
  std::string how_;
  int64_t pause_, late_on_;
  int32_t input_ = 0;
  std::vector<int64_t> steps_, cells_;
};

}  // namespace

PILLION_STAGE(Trouble, "trouble", "Misbehaves when told to.", parameters)

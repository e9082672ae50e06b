// SPDX-License-Identifier: BSD-3-Clause
// A stage that is ended, stopped or starved of memory at a chosen point: on being made, at a step,
// while its state is saved or restored, while its product is being written, at the end. Otherwise
// it remembers which steps it saw. Only the first process to reach the point suffers, so that a
// successor goes on.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <thread>

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"field", "field", "density", "what to read"},
    {"point", "text", "never", "never, create, run, product, save, restore or finish"},
    {"step", "step", "0", "the step from which on it happens"},
    {"peer", "peer", "0", "the peer to which it happens"},
    {"how", "text", "kill", "kill, abort, stop, throw, sleep (for a second), eat or starve"},
    {"once", "text", "once", "a file that is made when it has happened, and to which job"},
    {"milliseconds", "integer", "0", "how long each publication takes"},
    {"partial", "text", "none", "the file that is there while the product is being written"},
};

/// Not to whoever tells the simulation which fields the stages need; see node_case.py.
bool belongs_to_sidecar_job() {
  const char* mark = std::getenv("PILLION_FAULT_CASE");
  return mark != nullptr && !std::string(mark).ends_with('/');
}

/// Takes all memory that this process may have, and a little less afterwards.
void eat(bool keep) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 1;
  setrlimit(RLIMIT_AS, &limit);
  try {
    // Otherwise a compiler may leave the allocations out.
    [[maybe_unused]] static char* volatile eaten;
    for (;;) eaten = new char[1024];
  } catch (const std::bad_alloc&) {
    limit.rlim_cur = before;
    if (!keep) setrlimit(RLIMIT_AS, &limit);
    throw;
  }
}

class Mishap : public Stage {
 public:
  explicit Mishap(Setup& setup)
      : point_(setup["point"].text()),
        how_(setup["how"].text()),
        once_(setup["once"].text()),
        partial_(setup["partial"].text()),
        step_(setup["step"].integer()),
        peer_(setup["peer"].integer()),
        pause_(setup["milliseconds"].integer()) {
    input_ = setup.input(Input::as_shared({setup["field"].text()}));
    if (point_ == "create" && belongs_to_sidecar_job()) happen();
  }

  void run(Step& step) override {
    mine_ = step.peer() == peer_;
    now_ = step.index();
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_));
    if (is_due("run")) happen();
    int64_t one = 1;
    step.sum(std::span(&one, 1));
    steps_.push_back(step.index());
    if (step.products_due()) write(step);
  }
  void finish(Step& step) override {
    if (is_due("finish")) happen();
    write(step);
  }
  void save(State& state) const override {
    if (is_due("save")) happen();
    state.save("steps", steps_);
  }
  void restore(State& state) override {
    steps_ = state.load<int64_t>("steps");
    mine_ = true;
    now_ = step_;
    if (is_due("restore")) happen();
  }

 private:
  [[nodiscard]] bool is_due(const char* point) const {
    return point_ == point && mine_ && now_ >= step_;
  }

  void happen() const {
    const int file = open(once_.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0) return;
    const char* mark = std::getenv("PILLION_FAULT_CASE");
    if (mark != nullptr && ::write(file, mark, std::strlen(mark)) < 0) std::abort();
    close(file);
    if (how_ == "kill") kill(getpid(), SIGKILL);
    if (how_ == "abort") std::abort();
    if (how_ == "stop") kill(getpid(), SIGSTOP);
    if (how_ == "sleep") std::this_thread::sleep_for(std::chrono::seconds(1));
    if (how_ == "throw") throw pillion::Error(pillion::ErrorCode::Stage, "told to throw");
    if (how_ == "eat") eat(false);
    if (how_ == "starve") eat(true);
  }

  /// A table that takes a while to write, watched by a thread that strikes while it is written.
  void write(Step& step) {
    step.write(Table("seen").column("step", "", steps_));
    if (partial_ == "none") return;
    const std::vector<int64_t> many(20000, step.index());
    const std::jthread watcher([&](const std::stop_token& written) {
      while (is_due("product") && !written.stop_requested())
        if (access(partial_.c_str(), F_OK) == 0) happen();
    });
    step.write(Table("big").column("step", "", many));
  }

  std::string point_, how_, once_, partial_;
  int64_t step_, peer_, pause_;
  int64_t now_ = -1;
  bool mine_ = false;
  int32_t input_ = 0;
  std::vector<int64_t> steps_;
};

}  // namespace

PILLION_STAGE(Mishap, "mishap", "Suffers a chosen fault at a chosen point.", parameters)

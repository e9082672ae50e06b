// SPDX-License-Identifier: BSD-3-Clause
// A stage that keeps as much after a million publications as after a thousand: how many there were,
// how long after the step began the last ones came, and what memory its process has. The field
// holds the monotonic time at which the step began; see steady_driver.cpp.
#include <algorithm>
#include <array>
#include <pillion/stage.hpp>

#include "../memory_use.hpp"

namespace {

using namespace pillion::stage;

const pillion_parameter parameters[] = {
    {"early", "integer", "0", "the publication after which memory is measured first"},
    {"late", "integer", "0", "the publication after which it is measured again"},
};

class Steady : public Stage {
 public:
  explicit Steady(Setup& setup)
      : early_(setup["early"].integer()),
        late_(setup["late"].integer()),
        input_(setup.input(Input::as_shared({"began"}))) {}

  void run(Step& step) override {
    const double now = faults::monotonic_seconds();
    auto& delay = delays_[static_cast<size_t>(count_) % delays_.size()] = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b)
      delay = std::max(delay, now - step.block(input_, b)[0].at<double>(0));
    ++count_;
    if (count_ == early_) use_[0] = faults::memory_use();
    if (count_ == late_) use_[1] = faults::memory_use();
  }

  void finish(Step& step) override {
    const auto some = std::min(count_, static_cast<int64_t>(delays_.size()));
    Table table("steady");
    table.column("delay", "s", std::vector<double>(delays_.begin(), delays_.begin() + some));
    for (size_t at = 0; at < 2; ++at)
      for (const auto& [name, value] : use_[at])
        table.attribute(name + (at == 0 ? "_early" : "_late"), static_cast<double>(value));
    table.attribute("count", static_cast<double>(count_));
    step.write(table);
  }

 private:
  int64_t early_, late_, count_ = 0;
  int32_t input_;
  std::array<double, 1000> delays_{};
  std::array<faults::MemoryUse, 2> use_{};
};

}  // namespace

PILLION_STAGE(Steady, "steady", "Measures delays and memory.", parameters)

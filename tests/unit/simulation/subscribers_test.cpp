// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/subscribers.hpp"

#include <doctest/doctest.h>

#include "run/attached_job.hpp"
#include "run/run.hpp"
#include "run/run_spec.hpp"

using namespace pillion;
using namespace pillion::simulation;

namespace {

/// A job that asks for an analysis in every slot.
class AskingSlots final : public transport::Slots {
 public:
  base::Bytes asked;
  [[nodiscard]] bool any() const override { return true; }
  [[nodiscard]] transport::SlotSight sight(int) override { return transport::SlotSight::Ready; }
  [[nodiscard]] base::Bytes request(int) const override { return asked; }
  void activate(int, int32_t, int32_t) override {}
  void refuse(int) override {}
  transport::Departure release(int) override { return {}; }
  [[nodiscard]] int64_t needed() const override { return 0; }
  [[nodiscard]] node::AttachedHold hold(size_t, size_t) override { return {}; }
  void evict_slowest() override {}
  [[nodiscard]] int64_t finished(int) const override { return 0; }
  [[nodiscard]] int64_t worked(int) const override { return 0; }
  [[nodiscard]] bool retire() override { return false; }
  [[nodiscard]] bool is_over() const override { return false; }
  [[nodiscard]] bool has_sidecars() override { return false; }
  void close() override {}
};

class IdleSender final : public transport::Sender {
 public:
  AskingSlots asking;
  std::byte* reserve(size_t) override { return nullptr; }
  std::byte* reserve_head(size_t) override { return nullptr; }
  void commit(int64_t) override {}
  void poll() override {}
  void wait(double) override {}
  [[nodiscard]] size_t budget() const override { return 0; }
  [[nodiscard]] bool fits(size_t) const override { return false; }
  [[nodiscard]] size_t in_flight() const override { return 0; }
  [[nodiscard]] size_t peak() const override { return 0; }
  [[nodiscard]] int64_t behind() const override { return 0; }
  [[nodiscard]] transport::Slots* slots() override { return &asking; }
  [[nodiscard]] const std::set<int32_t>& disabled() const override { return none_; }
  [[nodiscard]] std::string failure() const override { return {}; }

 private:
  std::set<int32_t> none_;
};

}  // namespace

TEST_CASE("the simulation itself turns attached jobs away where its owner refuses them") {
  for (const std::string allowed : {"yes", "no"}) {
    CAPTURE(allowed);
    run::RunSpec spec;
    spec.file = "run.yaml";
    spec.text =
        "output: x\nmeshes: {g: {kind: uniform, cells: [4]}}\n"
        "fields: {d: {mesh: g, type: float64}}\nanalyses: {}\n"
        "sidecars: {job: separate, attached: " +
        (allowed == "no" ? std::string("no") : std::string("{time: 1 %}")) + "}\n";
    run::Run run;
    run.configuration = spec.configuration(0);
    IdleSender sender;
    run::AttachedJob job;
    job.name = job.file = "more";
    job.text = "analyses: {mean: {stages: [statistics: {fields: d}]}}\n";
    job.needs.resize(1);
    sender.asking.asked = base::to_bytes(job);
    policy::Policy policy({}, {});
    const Subscribers subscribers(run, &sender, {}, policy);
    if (allowed == "no") CHECK_THROWS_AS((void)subscribers.read(0), Error);
    else CHECK(subscribers.read(0).name == "more");
  }
}

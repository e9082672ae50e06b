// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/lost_jobs.hpp"

#include <doctest/doctest.h>

#include "base/clock.hpp"

using namespace pillion;

namespace {

/// Those of a rank that has seen some jobs die.
class Slots final : public transport::Slots {
 public:
  std::vector<node::JobNumber> lost;
  std::set<node::JobNumber> expelled;
  [[nodiscard]] std::vector<node::JobNumber> lost_jobs() override { return lost; }
  void expel(node::JobNumber job) override { expelled.insert(job); }
  [[nodiscard]] bool any() const override { return false; }
  [[nodiscard]] transport::SlotSight sight(int) override { return transport::SlotSight::Free; }
  [[nodiscard]] base::Bytes request(int) const override { return {}; }
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
  [[nodiscard]] bool has_sidecars() override { return true; }
  void close() override {}
};

}  // namespace

TEST_CASE("every rank has a job's processes end, whichever rank has seen one die") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Slots slots;
  simulation::LostJobs lost(world, &slots);
  std::set<node::JobNumber> expected;
  for (int witness = 0; witness < world.size(); ++witness) {
    const node::JobNumber job = 100 + static_cast<node::JobNumber>(witness);
    expected.insert(job);
    // It sees that again whenever it looks, and the last rank sees it too.
    if (world.rank() == witness || world.rank() == world.size() - 1) slots.lost.push_back(job);
    const double deadline = base::monotonic_seconds() + 20;
    CHECK(base::wait_until(
        [&] {
          lost.look();
          return slots.expelled == expected;
        },
        deadline));
    world.barrier();
  }
}

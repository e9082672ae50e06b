// SPDX-License-Identifier: BSD-3-Clause
// A world for the policy: ranks with memory of their own, sidecars that finish messages, die and
// are replaced, attached jobs that come and go, all at random, and each rank learns of it in its
// own time. Plays what the driver does and checks what must always hold.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>

#include "policy/losses.hpp"
#include "policy/policy.hpp"

namespace walk {

using namespace pillion::policy;

/// Thrown where something does not hold.
struct Broken {
  std::string what;
};

struct Message {
  int64_t bytes;
  bool is_spilled;
  std::vector<size_t> analyses;
  int64_t number;
};

/// The memory of one rank, whose messages are freed in order.
class Memory final : public MessageBudget {
 public:
  int64_t capacity = 0, spill = 0;
  size_t headers = 6;
  std::deque<Message> queue;

  [[nodiscard]] int64_t used(bool spilled) const;
  [[nodiscard]] bool fits(size_t bytes) const override {
    return used(false) + static_cast<int64_t>(bytes) <= capacity;
  }
  [[nodiscard]] bool fits_header() const override { return queue.size() < headers; }
  [[nodiscard]] bool fits_spill(size_t bytes) const override {
    return used(true) + static_cast<int64_t>(bytes) <= spill;
  }
};

/// An attached job, as it is and as each rank sees it.
struct Job {
  enum class State { Absent, Ready, Active, Gone } state = State::Absent;
  std::vector<State> seen;
  size_t analyses = 1;
};

/// An analysis of the world, with what became of its publications.
struct Analysis {
  int64_t every = 1;
  std::vector<int64_t> bytes;  ///< by rank
  bool may_migrate = false;
  int slot = -1;
  int64_t due = 0, published = 0, dropped = 0, skipped = 0, here = 0, unserved = 0;
  int64_t last = 0;         ///< number of its last publication
  bool is_skipped = false;  ///< since then, and still wants to be published
  // Of the run's own sidecars, in a job of their own.
  std::set<int64_t> rows{}, written{};  ///< publications that sidecars know of, and in the table
  int64_t ended = 0;
  SavedCounts counts{};
  std::optional<SavedCounts> saved{};
};

struct Shape {
  int ranks = 1;
  Settings settings;
  std::vector<AnalysisTraits> traits;
};

class World {
 public:
  World(uint64_t seed, const Shape& shape);

  /// One step at which something may be due, with everything that may go wrong beside it.
  void step();
  /// The same while nothing goes wrong, with room and sidecars that keep up; every analysis that is
  /// due must soon be published.
  void quiet_steps(int64_t steps);
  void checkpoint();
  void close();
  [[nodiscard]] int64_t events() const { return events_; }
  /// How often each kind of collective action was taken, by its place in the variant.
  [[nodiscard]] const std::map<size_t, int64_t>& taken() const { return taken_; }

 private:
  using Actions = std::vector<CollectiveAction>;
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  /// Gives an agreed event to every rank, whose actions must be the same.
  Actions agreed(const AgreedEvent& event);
  std::vector<LocalAction> local(size_t rank, const LocalEvent& event);
  void agree();
  void meet();
  void trouble();
  void trouble_at(size_t rank);
  void attach_or_leave();
  void see_jobs(size_t rank);
  void finish_messages(size_t rank, int64_t most);
  void run_sidecars();
  void kill_sidecars();
  void learn_failure();
  void admit(int slot);
  void release(int slot);
  void publish(const Publish& action);
  bool send(size_t rank, const Publish& action);
  bool wait(size_t rank, const Wait& wait, int64_t bytes);
  void migrate(const Actions& actions);
  [[nodiscard]] std::vector<size_t> due_now();
  void play(const std::vector<size_t>& due);
  void check_counts();
  void check_slots();
  void check_fairness() const;
  void check_recalled() const;

  std::mt19937_64 random_;
  Shape shape_;
  std::vector<Policy> policies_;
  std::deque<Memory> memories_;
  std::vector<Analysis> analyses_;
  std::array<Job, attached_slots> jobs_;
  std::optional<RankStatus> under_way_;
  bool was_full_ = false;      ///< some rank, for another publication like the last, as all know
  bool will_be_full_ = false;  ///< the same, for the agreement under way
  bool was_plenty_ = false;    ///< every rank, for two of the largest messages so far
  bool will_be_plenty_ = false;
  std::vector<int64_t> largest_;             ///< message so far, by rank
  std::vector<int64_t> last_bytes_;          ///< of the last publication, by rank
  std::vector<bool> knows_sidecars_failed_;  ///< by rank
  std::set<size_t> recalled_;                ///< from the sidecars, and not taken back
  bool dropped_ = false;                     ///< the last publication, on some rank
  bool sidecars_live_ = true;
  bool is_quiet_ = false;
  bool sidecars_failed_ = false;  ///< of the same job, for good
  double now_ = 0;
  std::set<int32_t> failures_;  ///< of analyses, of which some rank knows
  std::map<size_t, int64_t> taken_;
  int64_t step_ = 0, events_ = 0, sent_ = 0;
};

}  // namespace walk

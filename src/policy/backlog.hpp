// SPDX-License-Identifier: BSD-3-Clause
// What happens to a publication when sidecars are behind, and fairness among the analyses that
// compete for room. An analysis that is due often takes whatever room there is; so the one that has
// been without a publication for longest may have others skipped shortly before it is due, and the
// earlier, the more often that was in vain. Every rank keeps the same schedule, from what all know.
#pragma once

#include <map>
#include <optional>

#include "model/sidecars.hpp"
#include "policy/events.hpp"

namespace pillion::policy {

/// How much fits into the memory for messages on this rank.
class MessageBudget {
 public:
  MessageBudget() = default;
  MessageBudget(const MessageBudget&) = delete;
  MessageBudget& operator=(const MessageBudget&) = delete;
  virtual ~MessageBudget() = default;
  [[nodiscard]] virtual bool fits(size_t bytes) const = 0;
  [[nodiscard]] virtual bool fits_header() const = 0;
  [[nodiscard]] virtual bool fits_spill(size_t bytes) const = 0;
  /// Whether that many could go to disk without waiting for others.
  [[nodiscard]] virtual bool fits_spill_now(size_t bytes) const { return fits_spill(bytes); }
  /// Whether another publication like the last one would stay within what attached jobs may take.
  [[nodiscard]] virtual bool fits_attached() const { return true; }
};

/// Which analysis has waited for longest, and whether others should leave room for it.
class FairScheduler {
 public:
  /// Publication number `number` was made for these analyses, was skipped, or was begun and found
  /// no room on some rank.
  void published(const std::vector<size_t>& due, int64_t number);
  void skipped(const std::vector<size_t>& due);
  void dropped(const std::vector<size_t>& due);
  /// Keeps memory for that number of analyses: a rank that lacked it would decide alone.
  void reserve(size_t analyses) { entries_.reserve(analyses); }
  /// The analysis wants nothing for now: its condition does not hold, it was disabled, or it moved.
  void withdraw(size_t analysis);
  /// Its number is another analysis's from now on.
  void forget(size_t analysis) { entry(analysis) = {}; }

  /// The analysis that has been without a publication for longest and was due since.
  [[nodiscard]] std::optional<size_t> waiting() const;
  /// Whether a publication for `due` should leave room for waiting(), which is due in
  /// `steps_until_waiting` steps.
  [[nodiscard]] bool yields(const std::vector<size_t>& due, int64_t steps_until_waiting) const;

 private:
  struct Entry {
    bool waits = false;
    int64_t published = 0;  ///< number of its last publication
    int64_t drops = 0;      ///< since then
    int64_t window = 0;     ///< in how many steps before it is due others yield
  };
  Entry& entry(size_t analysis);
  std::vector<Entry> entries_;
};

/// How a publication relates to the analysis that has waited for longest.
enum class Priority { None, Waiting, Yields };

struct Admission {
  bool skip = false;
  int32_t level = 0;  ///< of coarsening
};

/// What to do with the publication that is due now, given the status of all ranks one publication
/// ago.
Admission admit(model::WhenFull when_full, const RankStatus& before,
                Priority priority = Priority::None);

/// Steps until ranks should agree again although nothing is due, to notice attached jobs: about
/// twice a second, every step if steps are slow.
int64_t steps_to_next_agreement(double seconds_per_step);

class Backlog {
 public:
  Backlog(model::WhenFull when_full, double deadline)
      : when_full_(when_full), deadline_(deadline) {}

  // Agreed.

  /// The publication before has ended, as all ranks know now. `wants` marks the analyses that still
  /// want publications.
  void settle(const RankStatus& all, const std::vector<bool>& wants);
  /// Divides what is due into what is published and what is skipped. `needs_whole` are analyses
  /// that cannot use coarse publications.
  std::vector<CollectiveAction> publish(PublicationReady ready,
                                        const std::vector<bool>& needs_whole);
  /// Keeps memory for that number of analyses.
  void reserve(size_t analyses) { scheduler_.reserve(analyses); }
  void withdraw(size_t analysis) { scheduler_.withdraw(analysis); }
  /// Its number is another analysis's from now on.
  void forget(size_t analysis) {
    scheduler_.forget(analysis);
    sizes_.erase(analysis);
  }
  [[nodiscard]] std::optional<size_t> waiting() const { return scheduler_.waiting(); }

  // Local.

  void on(const MessageReady& event);
  void on(const Dropped&) { dropped_ = true; }
  std::vector<LocalAction> on(const NoRoom& event);
  void on(const TimedOut&) { stalled_ = true; }
  /// Adds what this rank knows; a dropped publication is reported once.
  void contribute(RankStatus& mine, const MessageBudget& room);

 private:
  [[nodiscard]] Priority priority_of(const PublicationReady& ready) const;

  model::WhenFull when_full_;
  double deadline_;
  FairScheduler scheduler_;
  RankStatus before_;             ///< of all ranks
  std::vector<size_t> last_due_;  ///< analyses of the last publication that was not skipped
  int64_t published_ = 0;
  // What only this rank knows.
  std::map<size_t, size_t> sizes_;  ///< bytes of the last publication for an analysis
  size_t last_size_ = 0;            ///< of the run's own analyses, if there were any
  size_t last_with_attached_ = 0;   ///< of those together with others'; 0 if there were none
  bool dropped_ = false;
  bool stalled_ = false;  ///< waiting was in vain, and nothing has been finished since
};

}  // namespace pillion::policy

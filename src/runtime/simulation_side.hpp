// SPDX-License-Identifier: BSD-3-Clause
// A simulation rank's part of a run: what happens at a step.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "runtime/agenda.hpp"
#include "runtime/allocations.hpp"
#include "runtime/chains.hpp"
#include "runtime/checkpoint.hpp"
#include "runtime/consensus.hpp"
#include "runtime/effort.hpp"
#include "runtime/guest.hpp"
#include "runtime/keepsake.hpp"
#include "runtime/launcher.hpp"
#include "runtime/loss.hpp"
#include "runtime/movable.hpp"
#include "runtime/parcel.hpp"
#include "runtime/report.hpp"
#include "runtime/sharing.hpp"
#include "runtime/survey.hpp"
#include "runtime/trigger.hpp"
#include "runtime/turns.hpp"
#include "transport/announcement.hpp"
#include "transport/network.hpp"
#include "transport/node_setup.hpp"

namespace pillion::runtime {

/// How the run is doing, for the program.
struct Progress {
  int64_t step = 0;
  double time = 0;
  double steps_per_second = 0;
  int64_t publications = 0;
  int64_t skipped = 0;
  int64_t behind = 0;
  double stall_seconds = 0;
  int64_t disabled = 0;
};

/// How a simulation rank reaches sidecars.
struct Link {
  std::unique_ptr<transport::Sender> sender;    ///< null if there are no sidecars
  transport::NodeSender* node = nullptr;        ///< the same, if it goes through node memory
  transport::NetworkSender* network = nullptr;  ///< the same, if it goes through the network
  Wishes wishes;                                ///< then
  transport::Berth berth;                       ///< then
  size_t budget = 0;                            ///< bytes in flight
};

class SimulationSide {
 public:
  SimulationSide(Run& run, Chains chains, Crossing crossing, Link link, Launcher launcher);

  /// Takes the chains of analyses that may run on either side, which begin here. `produced` is what
  /// stages in front of them make.
  void adopt(Chains chains, Produced produced);

  Sharing& sharing() { return sharing_; }
  [[nodiscard]] const model::Catalogue& catalogue() const { return run_.configuration.catalogue; }
  /// Whether an analysis or a condition needs a field.
  [[nodiscard]] bool uses(const std::string& field) const { return needed().contains(field); }
  /// Units that are known at run time only; false if there is no such thing.
  bool set_units(const std::string& name, const std::string& units);
  /// Goes on where a checkpoint ended.
  void resume(const Manifest& manifest);

  /// Checks what is shared, once. [collective]
  void ready();
  [[nodiscard]] bool is_due(int64_t step, double time) const;
  void step(int64_t step, double time) {
    if (ready_ && steps_ < next_look_ && agenda_.idle(step, time)) {
      agenda_.offer_idle(step, time);
      run_.mark.set(agenda_.last_step(), time);
      time_ = time;
      ++steps_;
    } else {
      busy_step(step, time);
    }
  }
  void checkpoint(const std::filesystem::path& path);
  /// Warns if the run resumed and had nothing to analyse.
  void warn_of_known_steps();
  /// Ends the analyses here and in the sidecars. [collective]
  void close();

  [[nodiscard]] Progress progress() const;
  [[nodiscard]] int64_t steps() const { return steps_; }
  [[nodiscard]] int64_t publications() const { return published_; }
  [[nodiscard]] int64_t skipped() const { return skipped_; }
  [[nodiscard]] int64_t first_step() const { return first_step_; }
  [[nodiscard]] int64_t last_step() const { return agenda_.last_step(); }
  [[nodiscard]] double time() const { return time_; }
  /// Memory for a block, and the next; see Allocations.
  void* allocate(const std::string& field, int32_t block, size_t size, int32_t buffers);
  [[nodiscard]] std::shared_ptr<const void> keep(const void* data) const {
    return allocations_.keep(data);
  }
  void* swap(const std::string& field, int32_t block);
  void unshare(const std::string& field, int32_t block);
  /// Whether the run's own sidecars, in a job of their own, have finished everything.
  [[nodiscard]] bool sidecars_wrote_report() const { return finished_by_sidecars_; }
  /// Whether sidecars of this job have ended early, so that nobody should wait for them.
  [[nodiscard]] bool has_lost_sidecars() const { return lost_; }
  [[nodiscard]] Outcome outcome() const;
  /// Why the run could not start; "" if nobody found out, or if it did.
  [[nodiscard]] std::string refusal() const { return refused_ ? refused_->what() : ""; }
  /// For those who look at progress.
  void tell();
  [[nodiscard]] size_t budget() const { return link_.budget; }
  [[nodiscard]] size_t peak() const { return link_.sender ? link_.sender->peak() : 0; }

 private:
  void busy_step(int64_t step, double time);
  /// Says in the report how the run numbers steps from here on.
  void note_segment(const NumberedStep& numbered, int64_t step, double time);
  /// Keeps failures of `body`, a part of a step, from the program.
  template <class F>
  void contain(const std::vector<size_t>& due, F&& body) {
    try {
      body();
    } catch (const std::exception& e) {
      note_failure(due, e.what());
    }
  }
  /// Warns once, and has what was due disabled on every rank.
  void note_failure(const std::vector<size_t>& due, const char* why);
  /// Those of the scheduled analyses whose conditions hold. [collective, waits for the check
  /// before]
  std::vector<size_t> fired(const std::vector<size_t>& scheduled, int64_t step, double time);
  void check_condition(size_t analysis, int64_t step, double time);
  /// Runs the stages that are due here, and publishes what the others need.
  void work(const std::vector<size_t>& due, int64_t step, double time);
  /// Stages of one analysis in the simulation; what they leave is in `publication`.
  void run_here(size_t analysis, stagehost::Publication& publication);
  /// Disables an analysis and writes what its stages on this side have computed. [collective]
  void disable(size_t analysis, const Error& failure);
  void finish_disabled(size_t analysis);

  // publish.cpp
  void publish(const std::vector<size_t>& due, const std::vector<stagehost::Publication>& left,
               int64_t step, double time);
  void publish_or_skip(const std::vector<size_t>& due,
                       const std::vector<stagehost::Publication>& left, int64_t step, double time);
  transport::Announcement head_of(transport::Kind kind, int64_t step, double time);
  /// What crosses the cut: shared fields, and fields that stages left, as "ANALYSIS/FIELD".
  [[nodiscard]] transport::Meshes crossing(const transport::Announcement& head,
                                           const std::vector<size_t>& due,
                                           const std::vector<stagehost::Publication>& left) const;
  void add_ids(std::set<std::string>& fields) const;
  /// The part of it that is published; what guests need must not spoil what the run's own need.
  transport::Meshes gather(transport::Announcement& head, const std::vector<size_t>& due,
                           const std::vector<stagehost::Publication>& left);
  [[nodiscard]] transport::Meshes coarsened(transport::Meshes meshes, int32_t level) const;
  /// What is published, made anew only if it must be.
  Parcel& prepare(transport::Announcement& head, const std::vector<size_t>& due,
                  const std::vector<stagehost::Publication>& left);
  /// Takes out of `meshes` what goes straight to the sidecars that work on it; null if nothing can.
  std::unique_ptr<transport::Shipment> ship(const transport::Announcement& head,
                                            transport::Meshes& meshes);
  /// Says in the head what is new about a shipment.
  void declare(transport::Announcement& head, transport::Shipment& shipment) const;
  /// Changes when the same blocks would be published otherwise.
  [[nodiscard]] int64_t version() const;
  [[nodiscard]] Parcel& renewed(Parcel& parcel, transport::Announcement& head) const;
  void send(transport::Announcement& head, Parcel& parcel, const std::vector<size_t>& due);
  void send_dropped(transport::Announcement& head, const std::vector<size_t>& due);
  /// Memory for a message, waiting or spilling as the policy says; null if there is none.
  std::byte* reserve(size_t size, const std::vector<size_t>& due, int64_t step);
  std::byte* await_room(size_t size, const std::vector<size_t>& due, int64_t step);
  void count(const std::vector<size_t>& due, int64_t Account::*member);
  [[nodiscard]] Claim claim_of(const std::vector<size_t>& due, double time) const;
  /// Whether stages of an analysis in sidecars cannot use coarse publications.
  [[nodiscard]] bool needs_whole(size_t analysis) const;
  [[nodiscard]] model::WhenFull policy_for(const std::vector<size_t>& due) const;
  std::vector<size_t> take_left_out(std::vector<size_t>& due, const Decision& decision) const;
  /// Counts the publication before as made or left out, as all ranks know now.
  void end_turn(const std::set<int32_t>& disabled);
  /// Bytes of a publication of what is shared now for these analyses.
  [[nodiscard]] size_t size_for(const std::vector<size_t>& due);
  void send_head(const transport::Announcement& head);
  void settle_all();
  void check_budget();

  // moving.cpp
  /// Whether the stages of an analysis behind its cut run in sidecars now.
  [[nodiscard]] bool is_there(size_t analysis) const;
  [[nodiscard]] std::vector<Movable*> movables_in(const std::vector<size_t>& due);
  /// Has the analyses that may move judged by how their last publications went. [collective]
  void judge();
  [[nodiscard]] bool shall_move(const Movable& movable, int64_t publication) const;
  /// Before a publication: has those move that shall. [collective]
  void settle_places(const std::vector<size_t>& due, int64_t step);
  void send_away(Movable& movable, int64_t step);
  void call_back(Movable& movable);
  /// Whether every rank has room for a head. [collective]
  [[nodiscard]] bool all_fit_head() const;
  void send_move(transport::Kind kind, const Movable& movable);
  /// Goes on with what was called back, as soon as sidecars have given it. [collective]
  void welcome(Movable& movable, int64_t step);
  void welcome_all();
  [[nodiscard]] std::string reason_of(const std::string& why) const;
  void note_move(Movable& movable, const Stopwatch& watch, int64_t step, const std::string& reason);
  void run_movable(size_t analysis, stagehost::Publication& publication);
  [[nodiscard]] Gaps gaps_here(size_t analysis) const;
  /// After a publication: says how it went. [collective, waits only if something is called back]
  void take_stock(const std::vector<size_t>& due);
  [[nodiscard]] Sample sample_of(Movable& movable) const;

  // meeting.cpp
  /// What all ranks said when they last met, acted upon. [collective]
  const Standing& meet();
  /// Says how this rank stands now, for the next meeting. [collective, does not wait]
  void part(double pace);
  void look();
  void admit(int guest);
  void dismiss(int guest);
  /// Names of analyses that a guest cannot have.
  [[nodiscard]] std::set<std::string> names_in_use() const;
  [[nodiscard]] Standing standing();

  // closing.cpp
  /// Waits until something holds that sidecars bring about; for sidecars of another job at most
  /// until the deadline, and only while there are any. False if it does not hold.
  bool await(const std::function<bool()>& holds);
  /// Waits so until they have finished everything.
  bool await_sidecars();
  /// Memory for a message of that size, for which it waits as it does for sidecars; null if there
  /// will be none.
  std::byte* reserve_at_last(size_t size);
  void send_end();
  /// Finds out whether sidecars of this job were lost, and acts on it. [collective]
  void settle_loss();
  /// Disables what they worked on.
  void note_loss();
  /// Notes what a message was for, until sidecars of another job have finished it.
  void note_outstanding(int64_t sequence, const std::vector<size_t>& due);
  /// Counts publications as lost that living sidecars have not finished.
  void count_unfinished();
  /// The same where no sidecars are left. `kept` is what the last ones had saved.
  void count_unwritten(const Keepsake::Content& kept);
  /// Unless sidecars live: none shall come any more, and what they kept for successors is removed.
  /// [collective] Returns whether it is so.
  bool give_up();
  /// Whether analyses of the run itself want sidecars.
  [[nodiscard]] bool has_own_sidecars() const;
  [[nodiscard]] std::set<std::string> needed_by(size_t analysis) const;
  [[nodiscard]] std::set<std::string> needed() const;
  [[nodiscard]] std::vector<Gaps> gaps() const;
  void save_manifest(const std::filesystem::path& folder) const;

  Run& run_;
  Chains chains_;
  Chains here_;  ///< stages behind the cut, of analyses that may move and are here; null otherwise
  Produced produced_;
  Crossing crossing_;
  Link link_;
  Allocations allocations_;
  Launcher launcher_;
  Sharing sharing_;
  Agenda agenda_;
  Consensus consensus_;
  std::vector<std::unique_ptr<Trigger>> triggers_;  ///< by analysis, null without a condition
  std::vector<Movable> movables_;
  std::optional<Survey> survey_;  ///< none if nothing may move
  Effort effort_;                 ///< of sidecars, as the first rank knows it
  std::map<std::string, std::string> units_;
  Parcels parcels_;
  std::unique_ptr<Parcel> only_once_;
  transport::Told told_;
  Turns turns_;
  std::vector<size_t> turn_;        ///< analyses of the last publication that was not skipped
  bool dropped_ = false;            ///< it was dropped on this rank, which others do not know yet
  bool turn_dropped_ = false;       ///< it was dropped on some rank
  std::map<size_t, size_t> sizes_;  ///< of the last publication for an analysis
  size_t last_size_ = 0;            ///< of the last publication, as it would have been whole
  bool stalled_ = false;            ///< waiting was in vain, and nothing has been finished since
  /// Analyses that were in messages which the run's own sidecars may not have finished.
  std::deque<std::pair<int64_t, std::vector<size_t>>> outstanding_;
  /// Numbers of the first and last analysis of each guest; none if it has not been admitted.
  std::array<std::pair<size_t, size_t>, guest_seats> guests_{};
  int64_t next_look_ = std::numeric_limits<int64_t>::max();
  int64_t steps_at_look_ = 0;
  double time_of_look_ = 0;  ///< monotonic seconds
  Loss loss_;
  bool lost_ = false;  ///< sidecars, for good; the same on every rank, known at the end
  bool finished_by_sidecars_ = false;
  size_t own_analyses_;           ///< those of the configuration; guests' come after them
  std::optional<Error> refused_;  ///< why the run cannot start
  bool ready_ = false;
  int64_t sequence_ = 0;
  int64_t steps_ = 0;
  int64_t first_step_ = 0;
  int64_t known_steps_ = 0;   ///< that were offered and known
  int64_t segments_ = 0;      ///< that were begun after the first
  std::set<int32_t> failed_;  ///< analyses for which a step failed on this rank
  bool contained_ = false;    ///< a step did
  int64_t published_ = 0;
  int64_t skipped_ = 0;
  int64_t behind_ = 0;  ///< messages that sidecars had not finished when there was last a new one
  int64_t in_place_ = 0;
  int64_t direct_ = 0;
  double time_ = 0;
  double stall_ = 0;
  double first_offer_ = 0;  ///< monotonic seconds
};

}  // namespace pillion::runtime

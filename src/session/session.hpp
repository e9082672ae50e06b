// SPDX-License-Identifier: BSD-3-Clause
// One rank's connection to Pillion, from open to close.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "run/chains.hpp"
#include "run/run.hpp"
#include "run/run_spec.hpp"
#include "topology/place.hpp"

namespace pillion::base {
class DiskDeadline;
}
namespace pillion::run {
struct SavedState;
class Supervisor;
}  // namespace pillion::run
namespace pillion::sidecar {
class Sidecar;
}
namespace pillion::simulation {
struct Link;
class Simulation;
}  // namespace pillion::simulation
namespace pillion::transport {
class Receiver;
class SpillFile;
}  // namespace pillion::transport

namespace pillion::session {

/// What a program may set before it opens a session.
struct Options {
  base::Parameters parameters;
  topology::Role role = topology::Role::Any;
  std::string catalogue;  ///< YAML with meshes, fields and scalars
  base::Overrides overrides;
  std::string restart;  ///< overrides the file's `restart`
  base::Log log;
  bool deferred = false;  ///< opening only chooses sidecars; configure() does the rest
};

/// The settings of the environment, which override the program's. Read by one rank, which
/// broadcasts them.
void take_environment(run::RunSpec& spec);

class Session {
 public:
  Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Opens it, once; nothing else can be called before. Throws the same error on every rank.
  /// [collective over world]
  void open(const std::string& file, comm::Communicator world, const Options& options);

  // The second phase, on simulation ranks, of a session that was opened with `deferred`.

  /// A parameter of the file, and YAML that the program offers, for configure(). Throw
  /// ErrorCode::State if the session has its configuration.
  void set_parameter(const std::string& name, const std::string& value);
  void offer_catalogue(const std::string& yaml);
  /// Reads the configuration and connects the sides. Throws the same error on every rank, and again
  /// at each later call. [collective over the simulation ranks]
  void configure();
  /// Has the configuration read if that is still to be done. [collective] if it is.
  void ensure_configured() {
    if (!simulation_) configure();
  }

  [[nodiscard]] bool is_sidecar() const { return run_.is_sidecar(); }
  /// Works as a sidecar until the simulation has closed its session, and closes this one.
  void serve();
  /// The simulation ranks; MPI_COMM_NULL on a sidecar. It stays until MPI_Finalize.
  [[nodiscard]] MPI_Comm communicator() const { return program_; }
  /// The simulation rank's part; throws ErrorCode::State on a sidecar and before configure().
  [[nodiscard]] simulation::Simulation& simulation() const;
  [[nodiscard]] const std::string& report_path() const { return report_path_; }
  [[nodiscard]] const base::Log& log() const { return run_.log; }
  /// Ends the session. Throws simulation::Late if another rank does not come within `seconds`, by
  /// default the patience of the run; the session is open as before then, and a later call may end
  /// it. [collective over the simulation ranks]
  void close();
  void close(double seconds);
  /// Whether MPI still works for the session, as ranks have parted: it must stay as long as MPI
  /// runs, and so must its communicators.
  [[nodiscard]] bool must_stay() const;

 private:
  /// Chooses sidecars, and reads what is known of the configuration. [collective]
  void choose_roles(const std::string& file, const Options& options);
  void assign_roles(const std::vector<topology::Role>& wanted);
  void take_sides();
  /// Takes the configuration for this run, whose sidecars are chosen. Not collective.
  void take_configuration(model::Configuration configuration);
  void make_side();
  /// [collective over the simulation ranks]
  void make_lagged_communicators();
  /// The sides meet before the second phase. False if it will not come, because the simulation
  /// closes the session. [collective over world]
  [[nodiscard]] bool meet_for_configuration(bool closes) const;
  /// Throws unless all simulation ranks offer the same. [collective over the simulation ranks]
  void compare_offers() const;
  /// The second phase. If the simulation has failed before, every rank fails. [collective]
  void complete(const std::exception_ptr& failure);
  [[noreturn]] void refuse_offer(const char* what) const;
  [[nodiscard]] bool is_open_for_offers() const {
    return deferred_ && !run_.is_sidecar() && !simulation_ && !failure_;
  }
  /// Chains of this side; what crosses the cut and how sidecars want it, known on every rank.
  run::Chains meet_other_side(run::CutFields& cut_fields, run::LayoutRequests& layout_requests);
  run::SavedState read_restart(std::set<std::string>& saved);
  /// Takes the output folder for this run. [collective]
  void take_folder(const run::SavedState& state);
  /// In the simulation, the chains that may move. [collective]
  run::Chains make_movable(run::Chains& chains);
  void restore(run::Chains& chains, run::Half half, const std::set<std::string>& saved);
  void start_progress();
  /// `failure` is "" if all is well.
  void end_progress(const std::string& failure);
  /// Writes the last files of the run. `disk` has their deadline; nothing if there was no memory.
  void release_files(const std::optional<base::DiskDeadline>& disk, const std::string& failure);
  void finish(double seconds);
  /// What sidecars of this job know for the report, at the first simulation rank. False if they did
  /// not tell in time. [collective over the simulation]
  bool await_sidecars_summary(std::vector<base::Bytes>& summaries);
  /// Simulation ranks in the world that this sidecar tells of its failure.
  [[nodiscard]] std::vector<int> served() const;
  /// The sidecar that serves each simulation rank, as ranks of their sides.
  [[nodiscard]] std::vector<int> serving() const;
  void connect_by_network(simulation::Link& link, std::unique_ptr<transport::Receiver>& receiver);
  void connect_by_node(simulation::Link& link, std::unique_ptr<transport::Receiver>& receiver);
  [[nodiscard]] std::unique_ptr<transport::SpillFile> make_spill(int ranks_on_node,
                                                                 size_t memory) const;
  [[nodiscard]] run::Supervisor make_launcher(const simulation::Link& link) const;

  /// What the program gives in the second phase.
  struct Offer {
    std::string catalogue;
    base::Parameters parameters;
    static constexpr auto members() { return std::tuple{&Offer::catalogue, &Offer::parameters}; }
  };

  run::Run run_;
  run::RunSpec spec_;
  Offer offered_;
  std::vector<int> node_;  ///< of every rank of the world
  topology::Placement placement_;
  std::string unplaced_;  ///< why the locations of ranks are unknown; "" if they are known
  MPI_Comm program_ = MPI_COMM_NULL;  ///< for the program's own messages
  std::unique_ptr<simulation::Simulation> simulation_;
  std::unique_ptr<sidecar::Sidecar> sidecar_;
  std::string report_path_;
  int64_t sidecars_wanted_ = 0;  ///< ranks that insist on being sidecars
  bool deferred_ = false;
  std::optional<Error> failure_;  ///< why configure() failed
};

}  // namespace pillion::session

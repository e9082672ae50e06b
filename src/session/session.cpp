// SPDX-License-Identifier: BSD-3-Clause
// Opening a session: read, agree, split, load, connect. Every step that can fail on one rank only
// is followed by agreement, so that every rank opens or none does. How sides are connected is in
// connect.cpp, the second phase in second_phase.cpp, the end in close.cpp.
#include "session/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <sstream>

#include "base/disk_deadline.hpp"
#include "comm/agreement.hpp"
#include "comm/calls.hpp"
#include "comm/lasting.hpp"
#include "products/whole_file.hpp"
#include "run/attached_job.hpp"
#include "run/locations.hpp"
#include "run/report.hpp"
#include "run/saved_state.hpp"
#include "run/sidecar_notices.hpp"
#include "run/supervisor.hpp"
#include "sidecar/sidecar.hpp"
#include "simulation/simulation.hpp"

namespace pillion::session {

using comm::together;

void take_environment(run::RunSpec& spec) {
  if (const char* file = std::getenv("PILLION_CONFIGURATION"); file != nullptr && *file != '\0')
    spec.file = file;
  const auto take = [](const char* variable, const char* like,
                       std::map<std::string, std::string>& into) {
    const char* lines = std::getenv(variable);
    for (auto& [name, value] : run::read_settings(lines == nullptr ? "" : lines, variable, like))
      into.insert_or_assign(name, value);
  };
  take("PILLION_SET", "NAME=VALUE", spec.parameters);
  take("PILLION_OVERRIDE", "KEY=YAML", spec.overrides);
  take("PILLION_RUN_ID", "NAME=ID", spec.given_ids);
}

namespace {

/// A number that no other run has.
uint64_t new_run() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

/// Numbers with commas between them, of the publications at which analyses move: tests want moves
/// that do not depend on how fast anything is.
std::vector<int64_t> forced_moves() {
  std::vector<int64_t> out;
  const char* text = std::getenv("PILLION_MOVE_AT");
  std::istringstream in(text == nullptr ? "" : text);
  for (std::string spec; std::getline(in, spec, ',');) out.push_back(std::atoll(spec.c_str()));
  return out;
}

run::RunSpec agree_on_spec(const comm::Communicator& world, int leader, const std::string& file,
                           const Options& options) {
  const auto bytes = comm::broadcast_made(world, leader, [&] {
    run::RunSpec mine{.file = file,
                      .text = {},
                      .catalogue = options.catalogue,
                      .restart = options.restart,
                      .parameters = options.parameters,
                      .overrides = options.overrides,
                      .folder = std::filesystem::current_path().string(),
                      .move_at = forced_moves(),
                      .test_overrides = run::read_test_overrides(),
                      .run = new_run(),
                      .given_ids = {},
                      .produced = {},
                      .declared = {},
                      .earlier = {},
                      .awaits_sidecars = std::getenv("PILLION_AWAIT_SIDECARS") != nullptr};
    take_environment(mine);
    try {
      mine.text = products::read_yaml_file(mine.file);
    } catch (const Error& e) {
      throw Error(ErrorCode::Configuration,
                  fmt::format("the configuration cannot be opened: {}", e.what()));
    }
    return base::to_bytes(mine);
  });
  run::RunSpec spec;
  together(world, [&] { spec = base::from_bytes<run::RunSpec>(bytes); });
  return spec;
}

topology::MappingRequest request_of(const model::SidecarSpec& spec) {
  if (spec.job == model::Job::Separate) return {};
  return {.ranks = spec.ranks,
          .per_node = spec.per_node,
          .mapping = spec.mapping,
          .stay_on_node = spec.through_node()};
}

/// How ranks open the session: which role each wants, and whether in two phases.
struct Wishes {
  std::vector<topology::Role> roles;
  bool deferred = false;
};

// Ranks that are sidecars in any case do as the others.
Wishes gather_wishes(const comm::Communicator& world, const Options& mine) {
  Wishes wishes;
  const auto numbers =
      world.gather_all_runs(2 * static_cast<int64_t>(mine.role) + (mine.deferred ? 1 : 0));
  together(world, [&] {
    std::set<bool> found;
    for (const auto number : numbers) {
      wishes.roles.push_back(static_cast<topology::Role>(number / 2));
      if (wishes.roles.back() != topology::Role::Sidecar) found.insert(number % 2 != 0);
    }
    if (found.size() > 1)
      base::fail(ErrorCode::Argument,
                 "some ranks open the session in two phases and others in one; set "
                 "pillion_options_set_deferred on all of them or on none");
    wishes.deferred = found.contains(true);
  });
  return wishes;
}

}  // namespace

Session::Session() = default;

void Session::open(const std::string& file, comm::Communicator world, const Options& options) {
  run_.world = std::move(world);
  run_.started = base::calendar_seconds();
  together(run_.world, [&] { run_.log = options.log; });
  // A program that looks at no status still shows why it stopped.
  try {
    choose_roles(file, options);
    take_sides();
    if (!deferred_) make_side();
  } catch (const Error& e) {
    if (run_.world.rank() == 0) run_.log.failure("{}", e.what());
    throw;
  }
}

Session::~Session() { comm::give_back_lasting(program_); }

void Session::choose_roles(const std::string& file, const Options& options) {
  const auto wishes = gather_wishes(run_.world, options);
  const auto& wanted = wishes.roles;
  deferred_ = wishes.deferred;
  const auto leader = std::find_if(wanted.begin(), wanted.end(),
                                   [](topology::Role r) { return r != topology::Role::Sidecar; });
  if (leader == wanted.end())
    base::fail(ErrorCode::Placement,
               "all {} ranks insist on being sidecars; start the simulation in the same mpirun",
               wanted.size());
  spec_ = agree_on_spec(run_.world, static_cast<int>(leader - wanted.begin()), file, options);
  run_.id = spec_.run;
  together(run_.world, [&] {
    run_.move_at = {spec_.move_at.begin(), spec_.move_at.end()};
    sidecars_wanted_ = std::count(wanted.begin(), wanted.end(), topology::Role::Sidecar);
    if (deferred_) run_.configuration.sidecars = spec_.sidecars(sidecars_wanted_);
    else take_configuration(spec_.configuration(sidecars_wanted_));
  });
  node_ = run::find_nodes(run_.world, spec_.test_overrides);
  assign_roles(wanted);
}

// Without sidecars, or with sidecars that come from elsewhere, no rank needs the locations of
// others.
void Session::assign_roles(const std::vector<topology::Role>& wanted) {
  const auto& spec = run_.configuration.sidecars;
  run::Locations found;
  together(run_.world, [&] {
    found.locations.resize(node_.size());
    for (size_t r = 0; r < node_.size(); ++r) found.locations[r].node = node_[r];
  });
  if (spec.within_job())
    found = run::find_locations(run_.world, node_, spec_.test_overrides, spec.columns, spec.rows);
  together(run_.world, [&] {
    if (!found.fault.empty())
      base::fail(ErrorCode::Configuration, "'sidecars: {{mesh: [{}, {}]}}': {}", spec.columns,
                 spec.rows, found.fault);
    placement_ = topology::place(wanted, found.locations, request_of(spec));
  });
  run_.roles = std::move(placement_.roles);
  run_.mapping = placement_.mapping;
  unplaced_ = found.trouble;
}

void Session::take_sides() {
  run_.side = run_.world.split(run_.is_sidecar() ? 1 : 0);
  together(run_.world, [&] {
    if (!run_.is_sidecar()) run_.calls = std::make_shared<comm::Calls>();
  });
  run_.side.compare(run_.calls);
  if (!run_.is_sidecar()) program_ = comm::take_lasting(run_.side);
  const int node = node_[static_cast<size_t>(run_.world.rank())];
  run_.on_node = run_.world.split(2 * node + (run_.is_sidecar() ? 1 : 0));
  run_.on_node.compare(run_.calls);
  run_.leaders = run_.side.split(run_.on_node.rank() == 0 ? 0 : -1);
  together(run_.world, [&] {
    if (!unplaced_.empty())
      run_.warn(fmt::format("sidecars were chosen by rank alone: {}", unplaced_));
    if (!deferred_) run_.follow_timeline();
  });
}

void Session::take_configuration(model::Configuration configuration) {
  run_.configuration = std::move(configuration);
  run_.accounts.resize(run_.configuration.analyses.size());
  run_.disabled.resize(run_.configuration.analyses.size());
  run_.scalars.assign(run_.configuration.catalogue.scalars().size(),
                      std::numeric_limits<double>::quiet_NaN());
  run_.sink = stagehost::Sink(run_.configuration.output);
  // Ranks are late for reasons of the program's own, however short sidecars may hold it up.
  constexpr double least = 60;  // seconds
  const double patience = std::max(run_.configuration.sidecars.deadline, least);
  run_.patience = spec_.test_overrides.patience < 0 ? patience : spec_.test_overrides.patience;
  report_path_ = run_.configuration.output + "/" + run::report_name;
}

// By the first simulation rank, whose session ends when the run does. All chains are there, so that
// a mistake in the configuration does not move anything, and no rank has written anything yet.
void Session::take_folder(const run::SavedState& state) {
  int first = 0;
  together(run_.world, [&] { first = run_.ranks_of(topology::Role::Simulation).front(); });
  const auto taken = comm::broadcast_made(run_.world, first, [&] {
    const auto marked = run::marked_id(run_.configuration.output);
    const uint64_t id = run::choose_id(spec_, run_.configuration.run, marked);
    run::FolderClaim claim{.folder = run_.configuration.output,
                           .run = id,
                           .if_exists = run_.configuration.if_exists,
                           .analyses = {},
                           .resumes = !run_.configuration.restart.empty(),
                           .resumed_runs = state.runs};
    for (const auto& analysis : run_.configuration.analyses)
      claim.analyses.push_back(analysis.name);
    run_.folder = run::RunFolder::take(claim);
    run_.continues = run_.folder.continued();
    if (!spec_.catalogue.empty()) run::RunFolder::write_catalogue(claim.folder, spec_.catalogue);
    // Programs print warnings by default, so users learn where earlier results went.
    for (const auto& remark : run_.folder.remarks()) {
      run_.remarks.push_back(remark);
      run_.log.warn("{}", remark);
    }
    for (const auto& warning : run_.folder.warnings()) run_.warn(warning);
    base::ByteWriter out;
    out.put(id);
    out.put(run_.continues);
    return out.take();
  });
  together(run_.world, [&] {
    base::ByteReader in(taken);
    run_.id = spec_.run = in.get<uint64_t>();
    run_.continues = in.get_vector<std::string>();
  });
}

run::Chains Session::meet_other_side(run::CutFields& cut_fields,
                                     run::LayoutRequests& layout_requests) {
  const auto& spec = run_.configuration.sidecars;
  run::Chains chains;
  run::find_stages(run_.world, run_.configuration);
  together(run_.world, [&] {
    if (!run_.is_sidecar()) chains = run::make_chains(run_, topology::Role::Simulation, {});
  });
  const bool separate = spec.job == model::Job::Separate;
  int first = 0, sidecar = 0;
  together(run_.world, [&] {
    cut_fields.resize(run_.configuration.analyses.size());
    first = run_.ranks_of(topology::Role::Simulation).front();
    if (spec.within_job()) sidecar = run_.ranks_of(topology::Role::Sidecar).front();
  });
  if (!spec.any()) return chains;
  const auto bytes = comm::broadcast_made(run_.world, first, [&] {
    spec_.produced = run::produced_by(chains);
    spec_.declared = run::declared_by(chains);
    return base::to_bytes(spec_);
  });
  together(run_.world, [&] {
    spec_ = base::from_bytes<run::RunSpec>(bytes);
    run_.declared = spec_.declared;
    if (run_.is_sidecar()) chains = run::make_chains(run_, topology::Role::Sidecar, spec_.produced);
  });
  const auto needs = comm::broadcast_made(run_.world, separate ? first : sidecar, [&] {
    return base::to_bytes(separate ? run::ask_cut_fields(spec_) : run::cut_fields_of(chains));
  });
  together(run_.world, [&] { cut_fields = base::from_bytes<run::CutFields>(needs); });
  if (spec.through_node()) return chains;
  const auto requests = comm::broadcast_made(
      run_.world, sidecar, [&] { return base::to_bytes(run::layout_requests_of(chains)); });
  together(run_.world, [&] { layout_requests = base::from_bytes<run::LayoutRequests>(requests); });
  return chains;
}

void Session::make_side() {
  run::CutFields cut_fields;
  run::LayoutRequests layout_requests;
  run::Chains chains = meet_other_side(cut_fields, layout_requests);
  run::Chains migrating = make_movable(chains);
  std::set<std::string> saved;
  const run::SavedState state = read_restart(saved);
  together(run_.world, [&] {
    spec_.earlier = run::earlier_in(state, run_.configuration, saved);
    run_.earlier = spec_.earlier;
  });
  restore(chains, run::half_of(run_), saved);
  if (run::may_migrate(run_)) restore(migrating, run::Half::Behind, saved);
  take_folder(state);
  make_lagged_communicators();
  simulation::Link link;
  std::unique_ptr<transport::Receiver> receiver;
  if (run_.configuration.sidecars.through_node()) connect_by_node(link, receiver);
  else if (run_.configuration.sidecars.any()) connect_by_network(link, receiver);
  together(run_.world, [&] {
    if (run_.is_sidecar()) {
      sidecar_ =
          std::make_unique<sidecar::Sidecar>(run_, std::move(chains), policy::SidecarRole::SameJob);
      sidecar_->messages().set_receiver(std::move(receiver));
      sidecar_->messages().set_layout_requests(std::move(layout_requests));
      if (run::may_migrate(run_)) sidecar_->set_migratable(spec_.produced);
    } else {
      link.layout_requests = std::move(layout_requests);
      link.awaits_sidecars = spec_.awaits_sidecars;
      auto supervisor = make_launcher(link);
      simulation_ = std::make_unique<simulation::Simulation>(
          run_,
          simulation::Parts{std::move(chains), std::move(migrating), spec_.produced,
                            std::move(cut_fields)},
          std::move(link), std::move(supervisor));
      if (!run_.configuration.restart.empty()) simulation_->resume(state);
    }
    start_progress();
  });
}

// Each is for what ranks contribute to at a step and read at a later one.
void Session::make_lagged_communicators() {
  if (run_.is_sidecar()) return;
  const auto& analyses = run_.configuration.analyses;
  const bool any_sidecars = run_.configuration.sidecars.any();
  const bool any_conditions =
      std::any_of(analyses.begin(), analyses.end(), [](const auto& a) { return a.when.has_value(); });
  if (any_sidecars) run_.for_agreement = run_.side.duplicate();
  // Attached jobs may bring some.
  if (any_sidecars || any_conditions) run_.for_conditions = run_.side.duplicate();
  if (run::may_migrate(run_)) run_.for_migration = run_.side.duplicate();
}

void Session::start_progress() {
  if (run_.side.rank() != 0) return;
  const bool separate = run_.configuration.sidecars.job == model::Job::Separate;
  const auto number_of = [&](topology::Role role) {
    return static_cast<int64_t>(run_.ranks_of(role).size());
  };
  run::Snapshot first;
  first.role = run_.is_sidecar() ? "sidecars" : "simulation";
  first.simulation_ranks = number_of(topology::Role::Simulation);
  first.sidecar_ranks = separate ? -1 : number_of(topology::Role::Sidecar);
  run_.start_progress(std::move(first));
  if (simulation_) simulation_->tell();
}

void Session::end_progress(const std::string& failure) {
  if (simulation_) simulation_->tell();
  else sidecar_->report_progress();
  if (!run_.progress) return;
  const auto phase = failure.empty() ? run::Phase::Ended : run::Phase::Failed;
  run_.progress->announce_end(phase, failure);
  // The thread that writes it may wait for the disk.
  (void)base::on_disk([progress = std::shared_ptr(std::move(run_.progress)), phase, failure] {
    progress->end(phase, failure);
  });
}

// Analyses that may move begin in the simulation. What they need in sidecars is known by now, so
// the chains there make room.
run::Chains Session::make_movable(run::Chains& chains) {
  run::Chains migrating;
  if (!run::may_migrate(run_)) return migrating;
  together(run_.world, [&] {
    if (!run_.is_sidecar()) migrating = run::make_migratable_chains(run_, spec_.produced);
  });
  for (size_t a = 0; a < chains.size(); ++a)
    if (run_.is_sidecar() && run_.configuration.analyses[a].is_movable()) chains[a].reset();
  return migrating;
}

void Session::restore(run::Chains& chains, run::Half half, const std::set<std::string>& saved) {
  const auto failure = comm::failure_of(
      [&] { run::restore_chains(run_, chains, half, run_.configuration.restart, saved); });
  together(run_.world, [&] { comm::rethrow(failure); });
}

namespace {

/// What one rank finds of a checkpoint for all.
struct FoundCheckpoint {
  std::string folder, text;
  std::set<std::string> saved;
  bool was_aside = false;

  static constexpr auto members() {
    return std::tuple{&FoundCheckpoint::folder, &FoundCheckpoint::text, &FoundCheckpoint::saved,
                      &FoundCheckpoint::was_aside};
  }
};

/// A checkpoint that was left beside its place comes back there, and is read where it is if that
/// fails, as in a folder that is not the user's.
FoundCheckpoint find(const std::filesystem::path& folder) {
  FoundCheckpoint found;
  found.was_aside = run::find_checkpoint(folder) != folder;
  if (found.was_aside) try {
      products::recover_folder(folder, run::manifest_name);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is read where it is
    }
  found.folder = run::find_checkpoint(folder).string();
  return found;
}

}  // namespace

// Its folder is the one that all ranks, and sidecars of other jobs, read from here on.
run::SavedState Session::read_restart(std::set<std::string>& saved) {
  if (run_.configuration.restart.empty()) return {};
  const auto bytes = comm::broadcast_made(run_.world, 0, [&] {
    auto found = find(run_.configuration.restart);
    found.text = products::read_yaml_file(std::filesystem::path(found.folder) / run::manifest_name);
    const auto state = run::parse_manifest(found.text, run::manifest_name);
    for (const auto& [name, analysis] : state.analyses)
      if (std::filesystem::is_directory(std::filesystem::path(found.folder) / name))
        found.saved.insert(name);
    run::check_meshes(state, run_.configuration.catalogue, found.saved);
    return base::to_bytes(found);
  });
  run::SavedState state;
  together(run_.world, [&] {
    const auto asked = run_.configuration.restart;
    const auto found = base::from_bytes<FoundCheckpoint>(bytes);
    if (found.was_aside)
      run_.warn(fmt::format(
          "the checkpoint '{}' was not at its place, for a run was killed while it replaced an "
          "older one; resuming from '{}', which is whole",
          asked, found.folder));
    saved = found.saved;
    run_.configuration.restart = spec_.restart = found.folder;
    state = run::parse_manifest(
        found.text, (std::filesystem::path(found.folder) / run::manifest_name).string());
    for (const auto& analysis : run_.configuration.analyses)
      if (!saved.contains(analysis.name))
        run_.warn(fmt::format("analysis '{}' is not in the checkpoint '{}' and starts from scratch",
                              analysis.name, asked));
  });
  return state;
}

simulation::Simulation& Session::simulation() const {
  if (simulation_) return *simulation_;
  if (run_.is_sidecar())
    base::fail(ErrorCode::State, "this rank is a sidecar; it may only call pillion_serve");
  if (failure_) throw *failure_;
  base::fail(ErrorCode::State,
             "the session was opened in two phases and has no configuration yet; call "
             "pillion_configure on every simulation rank first");
}

// Why the second phase failed is for the simulation to say, which failed too.
void Session::serve() {
  if (!run_.is_sidecar()) return;
  if (!sidecar_) try {
      if (!meet_for_configuration(false)) return;
      complete({});
    } catch (const Error&) {
      return;
    }
  try {
    (void)sidecar_->serve();
    sidecar_->messages().set_receiver(nullptr);  // while MPI still runs
  } catch (const std::exception& e) {
    run::SidecarFailure(run_).tell(e.what(), served());
    if (run_.side.size() == 1) run::tell_finished(run_, {});
    end_progress(e.what());
    throw;
  }
  try {
    run::report_to_simulation(run_);
  } catch (const Error& e) {
    end_progress(e.what());
    throw;
  }
  end_progress("");
}

}  // namespace pillion::session

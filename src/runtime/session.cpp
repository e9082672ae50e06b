// SPDX-License-Identifier: BSD-3-Clause
// Opening a session: read, agree, split, load, connect. Every step that can fail on one rank only
// is followed by agreement, so that every rank opens or none does. How sides are connected is in
// connect.cpp.
#include "runtime/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>

#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "runtime/loss.hpp"
#include "runtime/needs.hpp"
#include "runtime/report.hpp"
#include "runtime/spots.hpp"

namespace pillion::runtime {

using comm::together;

namespace {

/// What whoever started the program has to say, which counts more than what the program says.
/// Read by one rank; the others hear of it.
void take_environment(Word& word) {
  if (const char* file = std::getenv("PILLION_CONFIGURATION"); file != nullptr && *file != '\0')
    word.file = file;
  const auto take = [](const char* variable, const char* like,
                       std::map<std::string, std::string>& into) {
    const char* lines = std::getenv(variable);
    for (auto& [name, value] : read_settings(lines == nullptr ? "" : lines, variable, like))
      into.insert_or_assign(name, value);
  };
  take("PILLION_SET", "NAME=VALUE", word.parameters);
  take("PILLION_OVERRIDE", "KEY=YAML", word.overrides);
}

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
  for (std::string word; std::getline(in, word, ',');) out.push_back(std::atoll(word.c_str()));
  return out;
}

Word agree_on_word(const comm::Communicator& world, int leader, const std::string& file,
                   const Options& options) {
  Word mine{.file = file,
            .text = {},
            .catalogue = options.catalogue,
            .restart = options.restart,
            .parameters = options.parameters,
            .overrides = options.overrides,
            .folder = std::filesystem::current_path().string(),
            .move_at = forced_moves(),
            .pretence = pretence_of_environment(),
            .run = new_run(),
            .produced = {},
            .declared = {}};
  together(world, [&] {
    if (world.rank() != leader) return;
    take_environment(mine);
    try {
      mine.text = products::read_yaml_file(mine.file);
    } catch (const Error& e) {
      throw Error(ErrorCode::Configuration,
                  fmt::format("the configuration cannot be opened: {}", e.what()));
    }
  });
  base::Bytes bytes = bytes_of(mine);
  world.broadcast(bytes, leader);
  return read_word(bytes);
}

placement::Wish wish_of(const model::SidecarSpec& spec) {
  if (spec.job == model::Job::Separate) return {};
  return {.ranks = spec.ranks,
          .per_node = spec.per_node,
          .spread = spec.spread,
          .stay_on_node = spec.through_node()};
}

std::vector<Role> gather_roles(const comm::Communicator& world, Role mine) {
  std::vector<Role> roles;
  for (const auto role : world.gather_all(static_cast<int64_t>(mine)))
    roles.push_back(static_cast<Role>(role));
  return roles;
}

}  // namespace

Session::Session(const std::string& file, MPI_Comm comm, const Options& options) {
  run_.log = options.log;
  run_.started = base::calendar_seconds();
  run_.world = comm::Communicator(comm);
  // A program that looks at no status still shows why it stopped.
  try {
    configure(file, options);
    take_sides();
    make_side();
  } catch (const Error& e) {
    if (run_.world.rank() == 0) run_.log.failure("{}", e.what());
    throw;
  }
}

void Session::configure(const std::string& file, const Options& options) {
  const auto wanted = gather_roles(run_.world, options.role);
  const auto leader =
      std::find_if(wanted.begin(), wanted.end(), [](Role r) { return r != Role::Sidecar; });
  if (leader == wanted.end())
    base::fail(ErrorCode::Placement,
               "all {} ranks insist on being sidecars; start the simulation in the same mpirun",
               wanted.size());
  word_ = agree_on_word(run_.world, static_cast<int>(leader - wanted.begin()), file, options);
  run_.id = word_.run;
  run_.move_at = {word_.move_at.begin(), word_.move_at.end()};
  together(run_.world, [&] {
    const auto sidecars = std::count(wanted.begin(), wanted.end(), Role::Sidecar);
    run_.configuration = word_.configuration(sidecars);
  });
  node_ = find_nodes(run_.world, word_.pretence);
  assign_roles(wanted);
  run_.accounts.resize(run_.configuration.analyses.size());
  run_.disabled.resize(run_.configuration.analyses.size());
}

// Without sidecars, or with sidecars that come from elsewhere, nobody needs to know who sits where.
void Session::assign_roles(const std::vector<Role>& wanted) {
  const auto& spec = run_.configuration.sidecars;
  Spots found{.spots = std::vector<placement::Spot>(node_.size()), .fault = {}, .trouble = {}};
  for (size_t r = 0; r < node_.size(); ++r) found.spots[r].node = node_[r];
  if (spec.within_job())
    found = find_spots(run_.world, node_, word_.pretence, spec.columns, spec.rows);
  together(run_.world, [&] {
    if (!found.fault.empty())
      base::fail(ErrorCode::Configuration, "'sidecars: {{mesh: [{}, {}]}}': {}", spec.columns,
                 spec.rows, found.fault);
    placement_ = placement::place(wanted, found.spots, wish_of(spec));
  });
  run_.roles = placement_.roles;
  run_.spread = placement_.spread;
  unplaced_ = found.trouble;
}

void Session::take_sides() {
  run_.side = run_.world.split(run_.is_sidecar() ? 1 : 0);
  if (!unplaced_.empty())
    run_.warn(fmt::format("sidecars were chosen by rank alone: {}", unplaced_));
  program_ = run_.world.split(run_.is_sidecar() ? -1 : 0);
  on_node_ =
      run_.world.split(run_.is_sidecar() ? -1 : node_[static_cast<size_t>(run_.world.rank())]);
  run_.sink = stagehost::Sink(run_.configuration.output);
  run_.follow_timeline();
  report_path_ = run_.configuration.output + "/" + report_name;
}

// By the first simulation rank, whose session ends when the run does. All chains are there, so that
// a mistake in the configuration does not move anything, and no rank has written anything yet.
void Session::take_folder(const Manifest& manifest) {
  const int first = run_.ranks_of(Role::Simulation).front();
  const bool mine = run_.world.rank() == first;
  together(run_.world, [&] {
    if (!mine) return;
    FolderClaim claim{.folder = run_.configuration.output,
                      .run = run_.id,
                      .if_exists = run_.configuration.if_exists,
                      .analyses = {},
                      .resumes = !run_.configuration.restart.empty(),
                      .resumed_runs = manifest.runs};
    for (const auto& analysis : run_.configuration.analyses)
      claim.analyses.push_back(analysis.name);
    run_.folder = RunFolder::take(claim);
    run_.continues = run_.folder.continued();
    // Programs print warnings by default, so users learn where earlier results went.
    for (const auto& remark : run_.folder.remarks()) {
      run_.remarks.push_back(remark);
      run_.log.warn("{}", remark);
    }
    for (const auto& warning : run_.folder.warnings()) run_.warn(warning);
  });
  base::ByteWriter out;
  out.put(run_.continues);
  base::Bytes continues = out.take();
  run_.world.broadcast(continues, first);
  base::ByteReader in(continues);
  run_.continues = in.get_vector<std::string>();
}

Chains Session::meet_other_side(Crossing& crossing, Wishes& wishes) {
  const auto& spec = run_.configuration.sidecars;
  Chains chains;
  together(run_.world, [&] {
    if (!run_.is_sidecar()) chains = make_chains(run_, Role::Simulation, {});
  });
  crossing.resize(run_.configuration.analyses.size());
  if (!spec.any()) return chains;
  word_.produced = produced_by(chains);
  word_.declared = declared_by(chains);
  base::Bytes told = bytes_of(word_);
  const int first = run_.ranks_of(Role::Simulation).front();
  run_.world.broadcast(told, first);
  word_ = read_word(told);
  run_.declared = word_.declared;
  base::Bytes needs;
  together(run_.world, [&] {
    if (run_.is_sidecar()) chains = make_chains(run_, Role::Sidecar, word_.produced);
    if (spec.job == model::Job::Separate && run_.world.rank() == first)
      needs = bytes_of(ask_needs(word_));
  });
  if (run_.is_sidecar()) needs = bytes_of(needed_by(chains));
  run_.world.broadcast(
      needs, spec.job == model::Job::Separate ? first : run_.ranks_of(Role::Sidecar).front());
  crossing = read_crossing(needs);
  if (spec.through_node()) return chains;
  base::Bytes wished;
  if (run_.is_sidecar()) wished = bytes_of(wishes_of(chains));
  run_.world.broadcast(wished, run_.ranks_of(Role::Sidecar).front());
  wishes = read_wishes(wished);
  return chains;
}

void Session::make_side() {
  Crossing crossing;
  Wishes wishes;
  Chains chains = meet_other_side(crossing, wishes);
  Chains movable = make_movable(chains);
  std::set<std::string> saved;
  const Manifest manifest = read_restart(saved);
  restore(chains, half_of(run_), saved);
  if (may_move(run_)) restore(movable, Half::Behind, saved);
  take_folder(manifest);
  Link link;
  link.wishes = wishes;
  std::unique_ptr<transport::Receiver> receiver;
  if (run_.configuration.sidecars.through_node()) connect_by_node(link, receiver);
  else if (run_.configuration.sidecars.any()) connect_by_network(link, receiver);
  if (run_.is_sidecar()) {
    sidecar_ = std::make_unique<SidecarSide>(run_, std::move(chains), std::move(receiver));
    sidecar_->set_wishes(std::move(wishes));
    if (may_move(run_)) sidecar_->set_movable(word_.produced);
    start_progress();
    return;
  }
  auto launcher = make_launcher(link);
  simulation_ = std::make_unique<Simulation>(
      run_, Parts{std::move(chains), std::move(movable), word_.produced, std::move(crossing)},
      std::move(link), std::move(launcher));
  if (!run_.configuration.restart.empty()) simulation_->resume(manifest);
  start_progress();
}

void Session::start_progress() {
  if (run_.side.rank() != 0) return;
  const bool separate = run_.configuration.sidecars.job == model::Job::Separate;
  const auto number_of = [&](Role role) {
    return static_cast<int64_t>(run_.ranks_of(role).size());
  };
  Snapshot first;
  first.role = run_.is_sidecar() ? "sidecars" : "simulation";
  first.simulation_ranks = number_of(Role::Simulation);
  first.sidecar_ranks = separate ? -1 : number_of(Role::Sidecar);
  run_.start_progress(std::move(first));
  if (simulation_) simulation_->tell();
}

void Session::end_progress(const std::string& failure) {
  if (simulation_) simulation_->tell();
  else sidecar_->tell();
  if (run_.progress) run_.progress->end(failure.empty() ? Phase::Ended : Phase::Failed, failure);
}

// Analyses that may move begin in the simulation. What they need in sidecars is known by now, so
// the chains there make room.
Chains Session::make_movable(Chains& chains) {
  Chains movable;
  if (!may_move(run_)) return movable;
  together(run_.world, [&] {
    if (!run_.is_sidecar()) movable = make_movable_chains(run_, word_.produced);
  });
  for (size_t a = 0; a < chains.size(); ++a)
    if (run_.is_sidecar() && run_.configuration.analyses[a].is_movable()) chains[a].reset();
  return movable;
}

void Session::restore(Chains& chains, Half half, const std::set<std::string>& saved) {
  std::optional<Error> failure;
  try {
    restore_chains(run_, chains, half, run_.configuration.restart, saved);
  } catch (const Error& e) {
    failure = e;
  }
  together(run_.world, [&] {
    if (failure) throw *failure;
  });
}

Manifest Session::read_restart(std::set<std::string>& saved) {
  const std::filesystem::path folder = run_.configuration.restart;
  if (folder.empty()) return {};
  std::string text;
  base::ByteWriter found;
  together(run_.world, [&] {
    if (run_.world.rank() != 0) return;
    text = products::read_yaml_file(folder / manifest_name);
    for (const auto& [name, memory] : parse_manifest(text, manifest_name).analyses)
      if (std::filesystem::is_directory(folder / name)) found.put(name);
  });
  run_.world.broadcast(text, 0);
  base::Bytes names = found.take();
  run_.world.broadcast(names, 0);
  for (base::ByteReader in(names); !in.done();) saved.insert(in.get<std::string>());
  for (const auto& analysis : run_.configuration.analyses)
    if (!saved.contains(analysis.name))
      run_.warn(fmt::format("analysis '{}' is not in the checkpoint '{}' and starts anew",
                            analysis.name, folder.string()));
  return parse_manifest(text, (folder / manifest_name).string());
}

Simulation& Session::simulation() const {
  if (!simulation_)
    base::fail(ErrorCode::State, "this rank is a sidecar; it may only call pillion_serve");
  return *simulation_;
}

void Session::serve() {
  if (!sidecar_) return;
  try {
    (void)sidecar_->serve();
  } catch (const std::exception& e) {
    Loss(run_).tell(e.what());
    end_progress(e.what());
    throw;
  }
  write_report_together(run_, run_.world, {});
  end_progress({});
}

void Session::close() {
  auto& side = simulation();
  const std::string failure = side.refusal();
  try {
    finish();
  } catch (const std::exception& e) {
    end_progress(e.what());
    run_.folder.release(true);
    throw;
  }
  end_progress(failure);
  run_.folder.release(true);
}

void Session::finish() {
  auto& side = simulation();
  side.close();
  const bool separate = run_.configuration.sidecars.job == model::Job::Separate;
  if (separate && side.answer().finished) return;  // sidecars write the report
  try {
    write_report_together(run_, side.answer().failed ? run_.side : run_.world, side.outcome());
  } catch (const Error& e) {
    if (!separate) throw;
    run_.warn(e.what());
  }
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Opening a session: read, agree, split, load. Every step that can fail on one rank only is
// followed by agreement, so that every rank opens or none does.
#include "runtime/session.hpp"

#include <algorithm>

#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "runtime/report.hpp"
#include "transport/network.hpp"

namespace pillion::runtime {

using comm::together;

namespace {

/// What the leading rank knows and every rank shall use: so a sidecar program needs no file, no
/// parameters and no catalogue of its own.
struct Word {
  std::string file, text, catalogue, restart;
  base::Parameters parameters;

  [[nodiscard]] base::Bytes bytes() const {
    base::ByteWriter out;
    for (const auto* s : {&file, &text, &catalogue, &restart}) out.put(*s);
    out.put(static_cast<int64_t>(parameters.size()));
    for (const auto& [name, value] : parameters) {
      out.put(name);
      out.put(value);
    }
    return out.take();
  }
  static Word from(const base::Bytes& bytes) {
    base::ByteReader in(bytes);
    Word word;
    for (auto* s : {&word.file, &word.text, &word.catalogue, &word.restart})
      *s = in.get<std::string>();
    for (auto n = in.get<int64_t>(); n > 0; --n) {
      const auto name = in.get<std::string>();
      word.parameters[name] = in.get<std::string>();
    }
    return word;
  }
};

Word agree_on_word(const comm::Communicator& world, int leader, const std::string& file,
                   const Options& options) {
  Word mine{file, {}, options.catalogue, options.restart, options.parameters};
  together(world, [&] {
    if (world.rank() != leader) return;
    try {
      mine.text = products::read_file(file);
    } catch (const Error& e) {
      throw Error(ErrorCode::Configuration,
                  fmt::format("the configuration cannot be opened: {}", e.what()));
    }
  });
  base::Bytes bytes = mine.bytes();
  world.broadcast(bytes, leader);
  return Word::from(bytes);
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
  const auto word =
      agree_on_word(run_.world, static_cast<int>(leader - wanted.begin()), file, options);
  together(run_.world, [&] {
    const auto sidecars = std::count(wanted.begin(), wanted.end(), Role::Sidecar);
    run_.configuration =
        model::read_configuration(word.text, word.file, word.parameters, word.catalogue, sidecars);
    if (!word.restart.empty()) run_.configuration.restart = word.restart;
    run_.roles = assign_roles(wanted, run_.configuration.sidecars.ranks);
  });
  run_.accounts.resize(run_.configuration.analyses.size());
  run_.disabled.resize(run_.configuration.analyses.size());
}

void Session::take_sides() {
  run_.side = run_.world.split(run_.is_sidecar() ? 1 : 0);
  program_ = run_.world.split(run_.is_sidecar() ? -1 : 0);
  run_.sink = stagehost::Sink(run_.configuration.output);
  report_path_ = run_.configuration.output + "/" + report_name;
  together(run_.world, [&] {
    if (run_.world.rank() == 0) products::make_folder(run_.configuration.output);
  });
}

namespace {

base::Bytes bytes_of(const Chains& chains) {
  base::ByteWriter out;
  for (const auto& chain : chains) {
    const auto fields = chain ? chain->produced() : std::vector<model::Field>();
    out.put(static_cast<int64_t>(fields.size()));
    for (const auto& field : fields) {
      for (const auto* s : {&field.name, &field.mesh, &field.units}) out.put(*s);
      out.put(static_cast<int32_t>(field.type));
      out.put(field.components);
    }
  }
  return out.take();
}

Produced read_produced(const base::Bytes& bytes, size_t analyses) {
  base::ByteReader in(bytes);
  Produced produced(analyses);
  for (auto& fields : produced)
    for (auto n = in.get<int64_t>(); n > 0; --n) {
      auto& field = fields.emplace_back();
      for (auto* s : {&field.name, &field.mesh, &field.units}) *s = in.get<std::string>();
      field.type = static_cast<model::ElementType>(in.get<int32_t>());
      field.components = in.get<int32_t>();
    }
  return produced;
}

/// What the sidecars' chains need, known on every rank.
Crossing agree_on_crossing(const Run& run, const Chains& chains) {
  base::ByteWriter out;
  for (const auto& chain : chains) {
    const auto needed = chain ? chain->needed() : std::set<std::string>();
    out.put(std::vector<std::string>(needed.begin(), needed.end()));
  }
  base::Bytes bytes = out.take();
  run.world.broadcast(bytes, run.ranks_of(Role::Sidecar).front());
  base::ByteReader in(bytes);
  Crossing crossing;
  for (size_t a = 0; a < chains.size(); ++a) {
    const auto names = in.get_vector<std::string>();
    crossing.emplace_back(names.begin(), names.end());
  }
  return crossing;
}

}  // namespace

void Session::make_side() {
  const size_t analyses = run_.configuration.analyses.size();
  const bool has_sidecars = run_.configuration.sidecars.ranks > 0;
  Chains chains;
  together(run_.world, [&] {
    if (!run_.is_sidecar()) chains = make_chains(run_, {});
  });
  Crossing crossing(analyses);
  if (has_sidecars) {
    base::Bytes produced = bytes_of(chains);
    run_.world.broadcast(produced, run_.ranks_of(Role::Simulation).front());
    together(run_.world, [&] {
      if (run_.is_sidecar()) chains = make_chains(run_, read_produced(produced, analyses));
    });
    crossing = agree_on_crossing(run_, chains);
  }
  std::set<std::string> saved;
  const Manifest manifest = read_restart(saved);
  std::optional<Error> failure;
  try {
    restore_chains(run_, chains, saved);
  } catch (const Error& e) {
    failure = e;
  }
  together(run_.world, [&] {
    if (failure) throw *failure;
  });
  const auto simulating = run_.ranks_of(Role::Simulation);
  const auto serving = run_.ranks_of(Role::Sidecar);
  const auto sidecar_for = [&](int rank) {
    return transport::sidecar_of(rank, static_cast<int>(simulating.size()),
                                 static_cast<int>(serving.size()));
  };
  if (run_.is_sidecar()) {
    std::vector<int> sources;
    for (size_t r = 0; r < simulating.size(); ++r)
      if (sidecar_for(static_cast<int>(r)) == run_.side.rank()) sources.push_back(simulating[r]);
    sidecar_ = std::make_unique<SidecarSide>(
        run_, std::move(chains),
        std::make_unique<transport::NetworkReceiver>(run_.world, std::move(sources)));
    return;
  }
  const size_t budget = staging_budget();
  std::unique_ptr<transport::Sender> sender;
  if (has_sidecars)
    sender = std::make_unique<transport::NetworkSender>(
        run_.world, serving[static_cast<size_t>(sidecar_for(run_.side.rank()))], budget);
  simulation_ = std::make_unique<SimulationSide>(run_, std::move(chains), std::move(crossing),
                                                 std::move(sender), budget);
  if (!run_.configuration.restart.empty()) simulation_->resume(manifest);
}

// The budget is for a node; the simulation ranks on it share it evenly.
size_t Session::staging_budget() const {
  const auto node = run_.side.split_by_node();
  return static_cast<size_t>(run_.configuration.sidecars.memory / node.size());
}

Manifest Session::read_restart(std::set<std::string>& saved) {
  const std::filesystem::path folder = run_.configuration.restart;
  if (folder.empty()) return {};
  std::string text;
  base::ByteWriter found;
  together(run_.world, [&] {
    if (run_.world.rank() != 0) return;
    text = products::read_file(folder / manifest_name);
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

SimulationSide& Session::simulation() const {
  if (!simulation_)
    base::fail(ErrorCode::State, "this rank is a sidecar; it may only call pillion_serve");
  return *simulation_;
}

void Session::serve() {
  if (!sidecar_) return;
  sidecar_->serve();
  write_report(run_, {});
}

void Session::close() {
  auto& side = simulation();
  side.close();
  write_report(run_, {side.first_step(), side.last_step(), side.steps(), side.publications(),
                      side.skipped(), side.time(), side.budget(), side.peak()});
}

}  // namespace pillion::runtime

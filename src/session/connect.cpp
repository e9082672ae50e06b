// SPDX-License-Identifier: BSD-3-Clause
// Connecting the two sides of a session by the network or by node memory.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "comm/agreement.hpp"
#include "run/attached_job.hpp"
#include "run/supervisor.hpp"
#include "session/session.hpp"
#include "simulation/publisher.hpp"
#include "transport/network.hpp"
#include "transport/node.hpp"
#include "transport/node_setup.hpp"

namespace pillion::session {

using comm::together;

std::vector<int> Session::serving() const {
  const auto sidecars = run_.ranks_of(topology::Role::Sidecar);
  std::vector<int> out;
  for (const int r : run_.ranks_of(topology::Role::Simulation)) {
    const int server = placement_.server[static_cast<size_t>(r)];
    out.push_back(static_cast<int>(std::lower_bound(sidecars.begin(), sidecars.end(), server) -
                                   sidecars.begin()));
  }
  return out;
}

namespace {

/// Those of `ranks` that sidecar `me` serves.
std::vector<int> served_by(int me, const std::vector<int>& serving, const std::vector<int>& ranks) {
  std::vector<int> out;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (serving[r] == me) out.push_back(ranks[r]);
  return out;
}

}  // namespace

// A sidecar that serves no rank tells the first one.
std::vector<int> Session::served() const {
  const auto ranks = run_.ranks_of(topology::Role::Simulation);
  auto mine = served_by(run_.side.rank(), serving(), ranks);
  if (mine.empty()) mine.push_back(ranks.front());
  return mine;
}

// Budgets are for a node. Simulation ranks share theirs as they need it, sidecars evenly.
void Session::connect_by_network(simulation::Link& link,
                                 std::unique_ptr<transport::Receiver>& receiver) {
  const auto& spec = run_.configuration.sidecars;
  std::unique_ptr<node::SharedBudget> budget;
  if (!run_.is_sidecar())
    budget = transport::make_budget(run_.on_node, static_cast<size_t>(spec.memory));
  together(run_.world, [&] {
    const auto sidecars = run_.ranks_of(topology::Role::Sidecar);
    if (run_.is_sidecar()) {
      const auto here = std::count_if(sidecars.begin(), sidecars.end(), [&](int rank) {
        return node_[static_cast<size_t>(rank)] == node_[static_cast<size_t>(run_.world.rank())];
      });
      receiver = std::make_unique<transport::NetworkReceiver>(
          run_.world, run_.side,
          served_by(run_.side.rank(), serving(), run_.ranks_of(topology::Role::Simulation)),
          static_cast<size_t>(spec.receive_limit() / here));
      return;
    }
    link.budget = static_cast<size_t>(spec.memory);
    const int mine = serving()[static_cast<size_t>(run_.side.rank())];
    link.sender = std::make_unique<transport::NetworkSender>(
        run_.world, sidecars, mine, link.budget / static_cast<size_t>(run_.on_node.size()),
        std::move(budget));
    std::set<int> nodes;
    for (const int rank : sidecars) nodes.insert(node_[static_cast<size_t>(rank)]);
    link.receive_limit = spec.receive_limit() * static_cast<int64_t>(nodes.size());
  });
}

namespace {

/// The part of a node's budget that holds messages on their way to the disk: half of it, so that
/// whatever fits in the other half can go there.
int64_t memory_of_spill(const model::SidecarSpec& spec) {
  return spec.when_full == model::WhenFull::Spill ? spec.memory / 2 : 0;
}

}  // namespace

std::unique_ptr<transport::SpillFile> Session::make_spill(int ranks_on_node, size_t memory) const {
  const auto& spec = run_.configuration.sidecars;
  if (spec.when_full != model::WhenFull::Spill) return {};
  return std::make_unique<transport::SpillFile>(
      node::spill_folder(spec.spill_folder, std::getenv("TMPDIR"), run_.configuration.output),
      static_cast<size_t>(spec.spill_limit / ranks_on_node), memory);
}

void Session::connect_by_node(simulation::Link& link,
                              std::unique_ptr<transport::Receiver>& receiver) {
  const auto& configuration = run_.configuration;
  const bool separate = configuration.sidecars.job == model::Job::Separate;
  std::vector<int> serving;
  node::Identity identity;
  base::Bytes described;
  together(run_.world, [&] {
    if (configuration.analyses.size() > static_cast<size_t>(node::most_analyses))
      base::fail(ErrorCode::Configuration, "there are {} analyses; at most {} can be handed over",
                 configuration.analyses.size(), node::most_analyses);
    if (!separate) serving = this->serving();
    identity = {configuration.run, spec_.run, node_[static_cast<size_t>(run_.world.rank())],
                *std::max_element(node_.begin(), node_.end()) + 1, run_.side.size()};
    described = base::to_bytes(spec_);
  });
  transport::NodeEndpoint endpoint;
  const auto failure = comm::failure_of([&] {
    if (run_.is_sidecar()) return;
    const int64_t to_disk = memory_of_spill(configuration.sidecars);
    endpoint = transport::make_endpoint(run_.side, run_.on_node, identity,
                                        configuration.sidecars.memory - to_disk, described);
    link.segment = endpoint.segment;
    link.spill_memory = static_cast<size_t>(to_disk / run_.on_node.size());
    link.budget = endpoint.budget->budget();
    together(run_.side, [&] {
      auto spill = make_spill(run_.on_node.size(), link.spill_memory);
      auto& channel = endpoint.segment->channel(endpoint.channel);
      if (spill) node::set_spill_address(channel, spill->address());
      const auto& analyses = configuration.analyses;
      const bool own = std::any_of(analyses.begin(), analyses.end(),
                                   [](const auto& a) { return a.in_sidecars(); });
      link.sender = std::make_unique<transport::NodeSender>(
          *endpoint.segment, endpoint.channel, own, std::move(spill), std::move(endpoint.budget),
          static_cast<size_t>(configuration.sidecars.spill_limit));
    });
    endpoint.segment->open_channel(endpoint.channel);
  });
  together(run_.world, [&] { comm::rethrow(failure); });
  if (separate) return;
  std::vector<int> serves;
  together(run_.world, [&] {
    if (run_.is_sidecar())
      serves = served_by(run_.side.rank(), serving, run_.ranks_of(topology::Role::Simulation));
  });
  const auto sources =
      transport::open_sources(run_.world, run_.is_sidecar() ? nullptr : &endpoint, serves);
  together(run_.world, [&] {
    if (!run_.is_sidecar()) return;
    auto node =
        std::make_unique<transport::NodeReceiver>(sources, node::primary, [] { return false; });
    if (!node->claim()) base::fail(ErrorCode::Internal, "another job holds the primary slot");
    receiver = std::move(node);
  });
}

run::Supervisor Session::make_launcher(const simulation::Link& link) const {
  const auto& spec = run_.configuration.sidecars;
  const bool may_attach = link.sender && link.sender->slots() != nullptr;
  if (!may_attach || spec.restart == 0 || run_.side.rank() != 0) return {};
  return {*link.sender, spec.restart,
          run::launch_command(spec.launch, spec.launch.empty() ? run::attach_program() : "",
                              fmt::format("{:016x}", spec_.run)),
          spec_.folder};
}

}  // namespace pillion::session

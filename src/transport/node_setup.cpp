// SPDX-License-Identifier: BSD-3-Clause
// One rank of a node makes the segment; the others, and sidecars, open it through that rank's
// process.
#include "transport/node_setup.hpp"

#include <map>
#include <span>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "node/room.hpp"

namespace pillion::transport {

using comm::together;
using node::Segment;

namespace {

/// Takes no memory, so that every rank comes to what follows.
node::FileAddress broadcast(const comm::Communicator& comm, node::FileAddress address) {
  comm.broadcast(std::as_writable_bytes(std::span(&address, 1)), 0);
  return address;
}

// Each channel has addresses for all of the budget, and memory for its part.
void check_room_for(const node::Identity& identity, std::vector<node::ChannelPlan> channels,
                    size_t configuration, int64_t memory) {
  for (auto& channel : channels) channel.values = static_cast<size_t>(memory) / channels.size();
  node::check_room(node::find_room(),
                   static_cast<int64_t>(Segment::size_of(channels, configuration)),
                   fmt::format("'sidecars: {{memory: {}}}' on node {}", base::format_bytes(memory),
                               identity.node));
}

}  // namespace

NodeEndpoint make_endpoint(const comm::Communicator& simulation, const comm::Communicator& on_node,
                           const node::Identity& identity, int64_t memory,
                           const base::Bytes& configuration) {
  NodeEndpoint endpoint;
  endpoint.channel = on_node.rank();
  const auto budget = static_cast<size_t>(memory);
  std::vector<int64_t> ranks;
  together(simulation, [&] { ranks.resize(static_cast<size_t>(on_node.size())); });
  on_node.gather_all(simulation.rank(), ranks);
  std::vector<node::ChannelPlan> channels;
  node::FileAddress address;
  together(simulation, [&] {
    for (const auto rank : ranks) channels.push_back({static_cast<int32_t>(rank), budget});
    if (on_node.rank() != 0) return;
    check_room_for(identity, channels, configuration.size(), memory);
    endpoint.segment = std::make_shared<Segment>(Segment::make(identity, channels, configuration));
    address = endpoint.segment->address();
  });
  address = broadcast(on_node, address);
  together(simulation, [&] {
    if (!endpoint.segment)
      endpoint.segment =
          std::make_shared<Segment>(Segment::open(address, Segment::Role::Simulation));
    endpoint.address = address;
    endpoint.budget = std::make_unique<node::SharedBudget>(
        &endpoint.segment->channel(0).budget, sizeof(node::ChannelWords), channels.size(),
        static_cast<size_t>(endpoint.channel), budget);
    (void)endpoint.budget->grow(endpoint.budget->share());
    endpoint.segment->take_channel(endpoint.channel, endpoint.budget->held());
  });
  return endpoint;
}

std::unique_ptr<node::SharedBudget> make_budget(const comm::Communicator& on_node, size_t budget) {
  const auto ranks = static_cast<size_t>(on_node.size());
  constexpr size_t head = node::SharedFile::head;
  const size_t size = node::whole_pages(head + ranks * sizeof(node::BudgetWords));
  const auto on_all = [&](auto&& deed) {
    int32_t done = 1;
    try {
      deed();
    } catch (const std::exception&) {
      done = 0;
    }
    return on_node.reduced(done, comm::Operation::Min) != 0;
  };
  node::SharedFile file;
  node::Mapping memory;
  node::FileAddress address;
  const bool made = on_all([&] {
    if (on_node.rank() != 0) return;
    file = node::SharedFile::make(node::memory_folder, size);
    file.reserve(0, size);
    address = file.address();
  });
  if (!made) return {};
  address = broadcast(on_node, address);
  std::unique_ptr<node::SharedBudget> out;
  const bool mapped = on_all([&] {
    if (on_node.rank() != 0) file = node::SharedFile::open(address);
    memory = file.map(0, size, node::SharedFile::Access::Write);
    auto* first = reinterpret_cast<node::BudgetWords*>(memory.data() + head);
    out = std::make_unique<node::SharedBudget>(first, sizeof *first, ranks,
                                               static_cast<size_t>(on_node.rank()), budget,
                                               std::move(memory));
    if (!out->grow(out->share())) base::fail(ErrorCode::Internal, "a new budget is full");
  });
  return mapped ? std::move(out) : nullptr;
}

std::vector<Source> open_sources(const comm::Communicator& world, const NodeEndpoint* mine,
                                 const std::vector<int>& serves) {
  std::vector<int64_t> makers, descriptors, nonces, channels;
  together(world, [&] {
    for (auto* all : {&makers, &descriptors, &nonces, &channels})
      all->resize(static_cast<size_t>(world.size()));
  });
  const node::FileAddress none;
  const auto& address = mine == nullptr ? none : mine->address;
  world.gather_all(static_cast<int64_t>(address.process), makers);
  world.gather_all(address.descriptor, descriptors);
  world.gather_all(static_cast<int64_t>(address.nonce), nonces);
  world.gather_all(mine == nullptr ? -1 : mine->channel, channels);
  std::map<int64_t, std::shared_ptr<Segment>> open;  // by nonce: processes of nodes may be equal
  std::vector<Source> sources;
  together(world, [&] {
    for (const int rank : serves) {
      const auto r = static_cast<size_t>(rank);
      auto& segment = open[nonces[r]];
      if (!segment)
        segment = std::make_shared<Segment>(
            Segment::open({static_cast<node::Token>(makers[r]),
                           static_cast<int32_t>(descriptors[r]), static_cast<uint64_t>(nonces[r])},
                          Segment::Role::Sidecar));
      sources.push_back({segment, static_cast<int>(channels[r])});
    }
  });
  return sources;
}

}  // namespace pillion::transport

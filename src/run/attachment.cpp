// SPDX-License-Identifier: BSD-3-Clause
// Looking for runs, and dealing their channels.
#include "run/attachment.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "comm/agreement.hpp"

namespace pillion::run {

using base::Bytes;
using node::Found;
using node::Segment;

namespace {

std::string text_of_id(const Found& found) { return fmt::format("{:016x}", found.identity.run); }

std::set<uint64_t> runs_in(const std::vector<Found>& found) {
  std::set<uint64_t> runs;
  for (const auto& f : found) runs.insert(f.identity.run);
  return runs;
}

}  // namespace

std::string describe_runs(const std::vector<Found>& found) {
  std::map<std::string, std::string> lines;
  for (const auto& f : found)
    lines[text_of_id(f)] =
        fmt::format("{} (id {}): {} simulation ranks on {} nodes{}", f.identity.name, text_of_id(f),
                    f.identity.simulation_ranks, f.identity.nodes,
                    f.in_container ? ", in a container; attach from inside it" : "");
  std::string text;
  for (const auto& [id, line] : lines) text += line + "\n";
  return text;
}

std::vector<Found> matching(const std::vector<Found>& found, const std::string& name) {
  std::vector<Found> out;
  std::copy_if(found.begin(), found.end(), std::back_inserter(out), [&](const Found& f) {
    return !f.in_container && (f.identity.name == name || text_of_id(f) == name);
  });
  return out;
}

std::pair<int, int> channel_range(int me, int helpers, int channels) {
  const auto part = [&](int h) {
    return static_cast<int>(static_cast<int64_t>(h) * channels / helpers);
  };
  return {part(me), part(me + 1)};
}

namespace {

Bytes packed(const std::vector<Found>& found) {
  base::ByteWriter out;
  out.put(static_cast<int64_t>(found.size()));
  for (const auto& f : found) {
    out.put(f.address);
    out.put(f.in_container ? int32_t{1} : int32_t{0});
    out.put(f.identity.name);
    out.put(std::array<int64_t, 4>{static_cast<int64_t>(f.identity.run), f.identity.node,
                                   f.identity.nodes, f.identity.simulation_ranks});
  }
  return out.take();
}

std::vector<Found> unpacked(const Bytes& bytes) {
  base::ByteReader in(bytes);
  std::vector<Found> found(static_cast<size_t>(in.get<int64_t>()));
  for (auto& f : found) {
    f.address = in.get<node::FileAddress>();
    f.in_container = in.get<int32_t>() != 0;
    f.identity.name = in.get<std::string>();
    const auto numbers = in.get<std::array<int64_t, 4>>();
    f.identity.run = static_cast<uint64_t>(numbers[0]);
    f.identity.node = static_cast<int32_t>(numbers[1]);
    f.identity.nodes = static_cast<int32_t>(numbers[2]);
    f.identity.simulation_ranks = static_cast<int32_t>(numbers[3]);
  }
  return found;
}

/// The runs on this node. One rank looks for all: a run that begins or ends meanwhile would be seen
/// by some of them only, and they must deal the same channels. [collective over neighbours]
std::vector<Found> find_runs(const comm::Communicator& neighbours) {
  Bytes bytes;
  if (neighbours.rank() == 0) bytes = packed(node::find_runs());
  neighbours.broadcast(bytes, 0);
  return unpacked(bytes);
}

/// Whether all nodes of a run have made their segments. [collective]
bool is_complete(const comm::Communicator& sidecars, const comm::Communicator& neighbours,
                 const std::vector<Found>& mine) {
  const auto here = neighbours.rank() == 0 ? static_cast<int64_t>(mine.size()) : 0;
  const int64_t nodes = mine.empty() ? 1 : mine.front().identity.nodes;
  return sidecars.reduced(here, comm::Operation::Sum) >=
         sidecars.reduced(nodes, comm::Operation::Max);
}

constexpr const char* no_view_outside =
    "this process is in a container with a PID namespace of its own, where it sees no other runs";

/// Whether a run has that name, in a container with processes of its own.
bool is_hidden(const std::vector<Found>& found, const std::string& name) {
  return std::any_of(found.begin(), found.end(), [&](const Found& f) {
    return f.in_container && (f.identity.name == name || text_of_id(f) == name);
  });
}

/// The segments of the one run of that name that are on this node, as soon as all are there.
std::vector<Found> look_for(const comm::Communicator& sidecars,
                            const comm::Communicator& neighbours, const std::string& name,
                            double patience) {
  const double begin = base::monotonic_seconds();
  std::vector<Found> all, mine;
  int32_t seen = 0;
  // Each look reads the open files of all processes of the node.
  constexpr base::Pauses pauses{0.05, 1.0};
  for (double pause = pauses.shortest;; pause = std::min(2 * pause, pauses.longest)) {
    all = find_runs(neighbours);
    mine = matching(all, name);
    const double waited = sidecars.reduced(base::monotonic_seconds() - begin, comm::Operation::Max);
    seen = sidecars.reduced<int32_t>(mine.empty() ? 0 : 1, comm::Operation::Min);
    if ((is_complete(sidecars, neighbours, mine) && seen != 0) || waited >= patience) break;
    base::clock().sleep(std::min(pause, patience - waited));
  }
  comm::together(sidecars, [&] {
    if (mine.empty())
      base::fail(ErrorCode::Argument, "no run called '{}' {} here{}{}", name,
                 is_hidden(all, name) ? "can be attached to from" : "is running",
                 all.empty() ? "; no run is" : "; these are:\n" + describe_runs(all),
                 node::is_in_container() ? "\n" + std::string(no_view_outside) : "");
    if (runs_in(mine).size() > 1)
      base::fail(ErrorCode::Argument, "several runs are called '{}'; name one by its id:\n{}", name,
                 describe_runs(mine));
  });
  return mine;
}

}  // namespace

Attachment attach_to(const comm::Communicator& sidecars, const std::string& name, double patience) {
  const auto neighbours = sidecars.split_by_node();
  const auto found = look_for(sidecars, neighbours, name, patience);
  Attachment out;
  std::vector<transport::Source> all;
  comm::together(sidecars, [&] {
    for (const auto& f : found) {
      auto segment = std::make_shared<Segment>(Segment::open(f.address, Segment::Role::Sidecar));
      for (int l = 0; l < segment->channels(); ++l) all.push_back({segment, l});
      out.segments.push_back(std::move(segment));
    }
  });
  const auto [first, last] =
      channel_range(neighbours.rank(), neighbours.size(), static_cast<int>(all.size()));
  out.sources.assign(all.begin() + first, all.begin() + last);
  const auto starts_segment = [&](const std::shared_ptr<Segment>& segment) {
    return std::any_of(out.sources.begin(), out.sources.end(), [&](const transport::Source& s) {
      return s.segment == segment && s.channel == 0;
    });
  };
  for (const auto& segment : out.segments) {
    out.control.push_back(starts_segment(segment));
    out.is_first = out.is_first || (out.control.back() && segment->identity().node == 0);
  }
  const auto channels =
      sidecars.reduced(static_cast<int64_t>(out.sources.size()), comm::Operation::Sum);
  const auto identity = found.front().identity;
  comm::together(sidecars, [&] {
    if (channels != identity.simulation_ranks)
      base::fail(ErrorCode::Placement,
                 "run '{}' has {} simulation ranks on {} nodes, but the sidecars see only {} of "
                 "them; start at least one sidecar on every node",
                 name, identity.simulation_ranks, identity.nodes, channels);
  });
  return out;
}

}  // namespace pillion::run

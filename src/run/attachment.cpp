// SPDX-License-Identifier: BSD-3-Clause
// Looking for runs, and dealing their channels.
#include "run/attachment.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/process.hpp"
#include "comm/agreement.hpp"
#include "run/liveness.hpp"
#include "run/whereabouts.hpp"

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

/// Whether ranks have found different runs. [collective]
bool are_several(const comm::Communicator& sidecars, const std::vector<Found>& mine) {
  constexpr auto most = std::numeric_limits<int64_t>::max();
  const auto runs = runs_in(mine);
  const auto first = runs.empty() ? 0 : static_cast<int64_t>(*runs.begin());
  const auto lowest = sidecars.reduced(runs.empty() ? most : first, comm::Operation::Min);
  const bool differs = runs.size() > 1 || (!runs.empty() && first != lowest);
  return sidecars.reduced<int32_t>(differs ? 1 : 0, comm::Operation::Max) != 0;
}

constexpr const char* no_view_outside =
    "this process is in a container with a PID namespace of its own, where it sees no other runs";

/// Whether a run has that name, in a container with processes of its own.
bool is_hidden(const std::vector<Found>& found, const std::string& name) {
  return std::any_of(found.begin(), found.end(), [&](const Found& f) {
    return f.in_container && (f.identity.name == name || text_of_id(f) == name);
  });
}

/// A line for each run on each node of the sidecars, with the node's name in front, or that it has
/// none; at rank 0. [collective]
std::string describe_nodes(const comm::Communicator& sidecars, const comm::Communicator& neighbours,
                           const std::vector<Found>& all) {
  std::string mine;
  if (neighbours.rank() == 0) {
    std::istringstream runs(all.empty() ? "no run" : describe_runs(all));
    for (std::string line; std::getline(runs, line);)
      mine += fmt::format("\n  on {}: {}", base::host_name(), line);
    if (node::is_in_container()) mine += "\n" + std::string(no_view_outside);
  }
  std::string text;
  for (const auto& bytes : sidecars.gather(base::to_bytes(mine), 0))
    text += base::from_bytes<std::string>(bytes);
  return text;
}

/// Where runs of that name are, as their output folders below the working folder name the nodes; a
/// line for each.
std::string ways_to(const std::string& name) {
  std::string text;
  for (const auto& run : whereabouts(".", name))
    if (run.host != base::host_name())
      text += "\n" + (has_heartbeat(run.folder) ? directions(run) : no_sign_of_life(run));
  if (text.empty())
    text = "\n`pillion runs FOLDER` names the nodes of runs that write below FOLDER";
  return text;
}

/// The nodes of the batch job of a run, for a message; "" if they are not known.
std::string nodes_of(const std::string& name) {
  for (const auto& run : whereabouts(".", name))
    if (!run.batch_job.nodes.empty()) return " of " + run.batch_job.nodes;
  return {};
}

struct Look {
  std::vector<Found> all, mine;  ///< on this node: all runs, and the one that is meant
  bool asked_to_leave = false;
};

/// Looks for the run until all of its nodes have one, or time is up.
Look look_for(const comm::Communicator& sidecars, const comm::Communicator& neighbours,
              const std::string& name, double patience, const std::function<bool()>& leave) {
  const double begin = base::monotonic_seconds();
  Look look;
  // Each look reads the open files of all processes of the node.
  constexpr base::Pauses pauses{0.05, 1.0};
  for (double pause = pauses.shortest;; pause = std::min(2 * pause, pauses.longest)) {
    look.all = find_runs(neighbours);
    look.mine = matching(look.all, name);
    const double waited = sidecars.reduced(base::monotonic_seconds() - begin, comm::Operation::Max);
    look.asked_to_leave = sidecars.reduced<int32_t>(leave() ? 1 : 0, comm::Operation::Max) != 0;
    if (is_complete(sidecars, neighbours, look.mine) || waited >= patience || look.asked_to_leave)
      return look;
    // All ranks have reduced the same numbers, so all sleep and none waits for another.
    base::clock().sleep(std::min(pause, patience - waited));
  }
}

/// The segments of the one run of that name that are on this node, as soon as all are there; none
/// where the node has no part of it.
std::vector<Found> find_segments(const comm::Communicator& sidecars,
                                 const comm::Communicator& neighbours, const std::string& name,
                                 double patience, const std::function<bool()>& leave) {
  const auto [all, mine, asked_to_leave] = look_for(sidecars, neighbours, name, patience, leave);
  const auto any = [&](bool here) {
    return sidecars.reduced<int32_t>(here ? 1 : 0, comm::Operation::Max) != 0;
  };
  const bool found = any(!mine.empty()), hidden = any(is_hidden(all, name));
  const bool several = are_several(sidecars, mine);
  if (found && !several) return mine;
  const std::string nodes = describe_nodes(sidecars, neighbours, all);
  comm::together(sidecars, [&] {
    if (sidecars.rank() != 0) return;
    if (several)
      base::fail(ErrorCode::Argument, "several runs are called '{}'; name one by its id:{}", name,
                 nodes);
    if (asked_to_leave)
      base::fail(ErrorCode::State, "asked to leave while it waited for run '{}'", name);
    base::fail(ErrorCode::Argument, "no run called '{}' {} the nodes of this job:{}{}", name,
               hidden ? "can be attached to from" : "is active on", nodes, ways_to(name));
  });
  return mine;
}

/// The segments and channels for this rank, of those on its node. [collective]
void take_channels(Attachment& out, const comm::Communicator& sidecars,
                   const comm::Communicator& neighbours, const std::vector<Found>& found) {
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
}

}  // namespace

// A launcher may put the simulation on fewer nodes than its allocation has, and sidecars on all.
Attachment attach_to(const comm::Communicator& sidecars, const std::string& name, double patience,
                     const std::function<bool()>& leave) {
  const auto neighbours = sidecars.split_by_node();
  const auto found = find_segments(sidecars, neighbours, name, patience, leave);
  Attachment out;
  take_channels(out, sidecars, neighbours, found);
  const auto channels =
      sidecars.reduced(static_cast<int64_t>(out.sources.size()), comm::Operation::Sum);
  comm::together(sidecars, [&] {
    if (found.empty()) return;
    const auto& identity = found.front().identity;
    if (channels != identity.simulation_ranks)
      base::fail(ErrorCode::Placement,
                 "run '{}' has {} simulation ranks on {} nodes, but the sidecars see only {} of "
                 "them; start at least one sidecar on every node{}",
                 name, identity.simulation_ranks, identity.nodes, channels, nodes_of(name));
  });
  out.job = sidecars.split(found.empty() ? -1 : 0);
  return out;
}

}  // namespace pillion::run

// SPDX-License-Identifier: BSD-3-Clause
// One point of the study of mappings, for collective I/O: all ranks of a job write one file in two
// phases. Aggregators gather pieces of it, a buffer at a time, and pass them on to the gateways of
// the file system. Prints one line of JSON; times are simulated. Run it by mapping.sh.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

#include "model/sidecars.hpp"
#include "pattern.hpp"
#include "topology/mapping.hpp"

namespace {

using namespace study;
namespace sg = simgrid::s4u;
namespace topology = pillion::topology;

constexpr int64_t buffer = 16 << 20, stripe = 1 << 20;  // as in ROMIO, and on Lustre
constexpr int groups = 12, gateways_per_group = 2, nodes_per_group = 384;
constexpr int gateways = groups * gateways_per_group;

struct Case {
  std::string kind, mapping, layout;
  int nodes = 128, aggregators = 32;
  int groups_of_job = 4;
  int64_t bytes = 4 << 20;  ///< of a rank; ranks follow each other in the file
  [[nodiscard]] int per_node() const { return (aggregators + nodes - 1) / nodes; }
};

/// Some bytes of one rank that one aggregator takes in one round.
struct Piece {
  int rank, aggregator, round;
  int64_t bytes;
};

/// In domains an aggregator has one stretch of the file; in stripes every n-th stripe.
std::vector<Piece> pieces_of(const Case& c, int ranks) {
  const int64_t file = c.bytes * ranks;
  const int64_t domain = (file + c.aggregators - 1) / c.aggregators;
  const bool in_stripes = c.layout == "stripes";
  std::vector<Piece> out;
  for (int64_t at = 0, end = 0; at < file; at = end) {
    const int64_t number = in_stripes ? at / stripe : at / domain;
    end = std::min({file, (at / c.bytes + 1) * c.bytes,
                    in_stripes ? (number + 1) * stripe : (number + 1) * domain});
    const int64_t inside = in_stripes ? number / c.aggregators * stripe + at % stripe : at % domain;
    end = std::min(end, at + buffer - inside % buffer);
    out.push_back({static_cast<int>(at / c.bytes), static_cast<int>(number % c.aggregators),
                   static_cast<int>(inside / buffer), end - at});
  }
  return out;
}

int network_links(const Machine& machine, int from, int to) {
  if (from / machine.kind().cores == to / machine.kind().cores) return 0;
  return static_cast<int>(machine.route(from, to).size());
}

class Writing {
 public:
  Writing(Machine& machine, const Case& c)
      : machine_(machine), c_(c), pieces_(pieces_of(c, ranks())), cores_(cores_of_aggregators()) {
    for (const Piece& piece : pieces_) {
      auto& rounds = gathered_[piece.aggregator];
      rounds.resize(std::max(rounds.size(), static_cast<size_t>(piece.round) + 1));
      rounds[static_cast<size_t>(piece.round)].push_back(&piece);
      sent_[piece.rank].push_back(&piece);
    }
  }
  void start() {
    for (const auto& [rank, pieces] : sent_)
      sg::Actor::create("send", machine_.host(rank), [this, rank = rank] { send(rank); });
    for (const auto& [number, rounds] : gathered_)
      sg::Actor::create("write", machine_.host(cores_[at(number)]),
                        [this, number = number] { write(number); });
  }
  void print() const;

 private:
  static size_t at(int index) { return static_cast<size_t>(index); }
  [[nodiscard]] int ranks() const { return c_.nodes * machine_.kind().cores; }
  /// The file system says which: stripes go round its gateways.
  [[nodiscard]] int gateway_of(int aggregator) const {
    return (c_.nodes + aggregator % gateways) * machine_.kind().cores;
  }
  [[nodiscard]] std::vector<int> cores_of_aggregators() const;
  [[nodiscard]] std::vector<int> nearest_cores() const;
  sg::Mailbox* box(const Piece& piece) const {
    return sg::Mailbox::by_name(std::to_string(&piece - pieces_.data()));
  }
  void send(int rank);
  void write(int number);

  Machine& machine_;
  const Case& c_;
  std::vector<Piece> pieces_;
  std::vector<int> cores_;
  std::map<int, std::vector<std::vector<const Piece*>>> gathered_;
  std::map<int, std::vector<const Piece*>> sent_;
  int word_ = 0;
  int* heard_ = nullptr;
  double gathering_ = 0, writing_ = 0;
};

/// As `pillion plan --aggregators` chooses them: by a rule, of all ranks of the job.
std::vector<int> chosen_by(const Machine& machine, const Case& c, pillion::model::Mapping rule) {
  std::vector<topology::Location> locations;
  for (int core = 0; core < c.nodes * machine.kind().cores; ++core)
    locations.push_back(machine.location(core));
  const auto chosen = topology::choose_sidecars(locations, c.aggregators, rule);
  std::vector<int> out;
  for (size_t core = 0; core < chosen.size(); ++core)
    if (chosen[core]) out.push_back(static_cast<int>(core));
  return out;
}

// By default one on each node from the first on; with more than nodes, the first cores of each.
std::vector<int> Writing::cores_of_aggregators() const {
  if (c_.mapping == "near") return nearest_cores();
  for (const auto rule : pillion::model::all_mappings)
    if (c_.mapping == pillion::model::name_of(rule)) return chosen_by(machine_, c_, rule);
  const int per_node = c_.per_node();
  std::vector<int> out;
  for (int i = 0; i < c_.aggregators; ++i)
    out.push_back(i / per_node * machine_.kind().cores + i % per_node);
  return out;
}

// One after the other: the node from whose ranks, and to whose gateway, the bytes times the links
// that they cross are the fewest, among nodes that are not taken.
std::vector<int> Writing::nearest_cores() const {
  const int cores = machine_.kind().cores, per_node = c_.per_node();
  std::vector<std::map<int, double>> from(at(c_.aggregators));
  for (const Piece& piece : pieces_)
    from[at(piece.aggregator)][piece.rank / cores] += static_cast<double>(piece.bytes);
  std::vector<int> taken(at(c_.nodes)), out;
  for (int a = 0; a < c_.aggregators; ++a) {
    int best = -1;
    double least = std::numeric_limits<double>::max();
    for (int node = 0; node < c_.nodes; ++node) {
      if (taken[at(node)] == per_node) continue;
      double cost = 0;
      for (const auto& [other, bytes] : from[at(a)])
        cost += bytes * (network_links(machine_, other * cores, node * cores) +
                         network_links(machine_, node * cores, gateway_of(a)));
      if (cost < least) {
        least = cost;
        best = node;
      }
    }
    // In another domain than the last one there.
    out.push_back(best * cores + taken[at(best)]++ * (cores / per_node));
  }
  return out;
}

void Writing::send(int rank) {
  std::vector<sg::CommPtr> under_way;
  for (const Piece* piece : sent_.at(rank))
    under_way.push_back(box(*piece)->put_async(&word_, static_cast<uint64_t>(piece->bytes)));
  sg::Comm::wait_all(under_way);
}

void Writing::write(int number) {
  const int core = cores_[at(number)], gateway = gateway_of(number);
  for (const auto& round : gathered_.at(number)) {
    const double begin = sg::Engine::get_clock();
    std::vector<sg::CommPtr> under_way;
    int64_t bytes = 0;
    for (const Piece* piece : round) {
      under_way.push_back(box(*piece)->get_async<int>(&heard_));
      machine_.count(piece->rank, core, static_cast<double>(piece->bytes));
      bytes += piece->bytes;
    }
    sg::Comm::wait_all(under_way);
    const double gathered = sg::Engine::get_clock();
    gathering_ += gathered - begin;
    machine_.count(core, gateway, static_cast<double>(bytes));
    sg::Comm::sendto(machine_.host(core), machine_.host(gateway), static_cast<uint64_t>(bytes));
    writing_ += sg::Engine::get_clock() - gathered;
  }
}

void Writing::print() const {
  const double seconds = sg::Engine::get_clock(), all = static_cast<double>(c_.bytes) * ranks();
  std::printf(
      "{\"kind\": \"%s\", \"nodes\": %d, \"aggregators\": %d, \"mapping\": \"%s\", \"layout\": "
      "\"%s\", \"bytes\": %.6g, \"seconds\": %.6g, \"gathering_seconds\": %.6g, "
      "\"writing_seconds\": %.6g, \"busiest\": {",
      c_.kind.c_str(), c_.nodes, c_.aggregators, c_.mapping.c_str(), c_.layout.c_str(), all,
      seconds, gathering_ / c_.aggregators, writing_ / c_.aggregators);
  bool is_first = true;
  for (int p = 0; p < parts; ++p) {
    const auto part = static_cast<Part>(p);
    const Busiest busiest = machine_.busiest(part);
    if (busiest.bytes == 0) continue;
    std::printf("%s\"%s\": {\"bytes\": %.6g, \"seconds\": %.6g, \"all_bytes\": %.6g}",
                is_first ? "" : ", ", name_of(part), busiest.bytes, busiest.seconds,
                machine_.bytes_over(part));
    is_first = false;
  }
  std::printf("}}\n");
}

/// The job's nodes in equal parts in some groups, and the gateways at the end of each group.
std::vector<int> places_of(const Case& c) {
  std::vector<int> out;
  for (int node = 0; node < c.nodes; ++node) {
    const int part = (c.nodes + c.groups_of_job - 1) / c.groups_of_job;
    out.push_back(node / part * nodes_per_group + node % part);
  }
  for (int g = 0; g < gateways; ++g)
    out.push_back((g % groups + 1) * nodes_per_group - 4 * (g / groups + 1));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  configure();
  if (argc < 6) {
    std::fputs(
        "collective: usage: collective haswell|knl MAPPING domains|stripes NODES AGGREGATORS "
        "[GROUPS]\n",
        stderr);
    return 2;
  }
  Case c{.kind = argv[1],
         .mapping = argv[2],
         .layout = argv[3],
         .nodes = std::atoi(argv[4]),
         .aggregators = std::atoi(argv[5])};
  if (argc > 6) c.groups_of_job = std::atoi(argv[6]);
  Machine machine(c.kind == "haswell" ? haswell() : knights_landing(), places_of(c),
                  Routing::Adaptive, gateways);
  Writing writing(machine, c);
  writing.start();
  engine.run();
  writing.print();
  return 0;
}

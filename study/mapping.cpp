// SPDX-License-Identifier: BSD-3-Clause
// One point of the study of mappings: molecular dynamics on some cores of a simulated machine, its
// analysis on the others. Steps and analyses take their time; halos, hand-overs, ghosts and sums
// go over the machine's links and compete for them. Prints one line of JSON; times are simulated.
// Run it by mapping.sh.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "pattern.hpp"

namespace {

using namespace study;
namespace sg = simgrid::s4u;

constexpr int publications = 3;
constexpr double bytes_of_sums = 16384;  // histograms and correlations, up a tree of ranks

struct Case {
  std::string kind, mapping;
  int nodes = 0, ratio = 0;  ///< simulation ranks to an analysis rank
  int every = 1;
  bool ahead = false;     ///< receives are posted before the analysis, not after it
  double cost = 0;        ///< of a step of the simulation, seconds an atom
  double analysis = 0.8;  ///< of the time of `every` steps, what an analysis computes
  Routing routing = Routing::Adaptive;
  Atoms atoms{};
};

struct Found {
  std::vector<double> finished;
  double stepping = 0, waiting = 0;  ///< simulation: in steps, and for earlier hand-overs
  double taking = 0, analysing = 0;  ///< analysis: since all was sent and room for it; the rest
};

/// All ranks of one run; each writes its own part.
class Run {
 public:
  Run(Machine& machine, const Case& c, Roles roles)
      : machine_(machine),
        c_(c),
        roles_(std::move(roles)),
        grid_(grid_of(static_cast<int>(roles_.simulation.size()))),
        halo_(ghosts_of(c.atoms, grid_)),
        ghosts_(ghosts_of_analysis(c.atoms, grid_, roles_)),
        clients_(roles_.analysis.size()),
        sent_at_(roles_.simulation.size()),
        simulation_(roles_.simulation.size()),
        analysis_(roles_.analysis.size()) {
    for (size_t r = 0; r < roles_.server.size(); ++r)
      clients_[at(roles_.server[r])].push_back(static_cast<int>(r));
  }

  void start() {
    for (int r = 0; r < simulation_ranks(); ++r)
      sg::Actor::create("simulate", machine_.host(roles_.simulation[at(r)]),
                        [this, r] { simulate(r); });
    for (int a = 0; a < analysis_ranks(); ++a)
      sg::Actor::create("analyse", machine_.host(roles_.analysis[at(a)]),
                        [this, a] { analyse(a); });
  }
  void print() const;

 private:
  static size_t at(int index) { return static_cast<size_t>(index); }
  [[nodiscard]] int simulation_ranks() const { return static_cast<int>(roles_.simulation.size()); }
  [[nodiscard]] int analysis_ranks() const { return static_cast<int>(roles_.analysis.size()); }
  [[nodiscard]] double atoms_here() const { return c_.atoms.all / simulation_ranks(); }
  [[nodiscard]] double handed_over() const { return atoms_here() * bytes_handed_over; }

  static sg::Mailbox* box(const char* what, int from, int to) {
    return sg::Mailbox::by_name(what + std::to_string(from) + ">" + std::to_string(to));
  }
  sg::CommPtr send(const char* what, const std::vector<int>& cores, int from, int to,
                   double bytes) {
    machine_.count(cores[at(from)], cores[at(to)], bytes);
    return box(what, from, to)->put_async(&word_, static_cast<uint64_t>(bytes));
  }
  sg::CommPtr receive(const char* what, int from, int to) {
    return box(what, from, to)->get_async<int>(&heard_);
  }

  void exchange_halo(int r);
  void simulate(int r);
  std::vector<sg::CommPtr> expect(int a);
  void exchange_ghosts(int a);
  void add_up(int a);
  void analyse(int a);

  Machine& machine_;
  const Case& c_;
  Roles roles_;
  Grid grid_;
  std::array<double, 3> halo_;
  std::vector<std::map<int, double>> ghosts_;
  std::vector<std::vector<int>> clients_;
  std::vector<double> sent_at_;
  std::vector<Found> simulation_, analysis_;
  int word_ = 0;
  int* heard_ = nullptr;
};

// One dimension after the other: ghosts of the first are in the faces of the second.
void Run::exchange_halo(int r) {
  constexpr const char* names[3][2] = {{"x-", "x+"}, {"y-", "y+"}, {"z-", "z+"}};
  for (int d = 0; d < 3; ++d) {
    if (grid_[at(d)] == 1) continue;
    std::vector<sg::CommPtr> under_way;
    for (const int side : {0, 1}) {
      const int to = neighbour(grid_, r, d, 2 * side - 1),
                from = neighbour(grid_, r, d, 1 - 2 * side);
      under_way.push_back(receive(names[d][side], from, r));
      under_way.push_back(
          send(names[d][side], roles_.simulation, r, to, halo_[at(d)] * bytes_of_halo));
    }
    sg::Comm::wait_all(under_way);
  }
}

void Run::simulate(int r) {
  Found& mine = simulation_[at(r)];
  const int server = roles_.server[at(r)], from = roles_.simulation[at(r)];
  sg::CommPtr sending;
  for (int p = 0; p < publications; ++p) {
    double begin = sg::Engine::get_clock();
    for (int s = 0; s < c_.every; ++s) {
      sg::this_actor::sleep_for(c_.cost * atoms_here());
      exchange_halo(r);
    }
    mine.stepping += sg::Engine::get_clock() - begin;
    begin = sg::Engine::get_clock();
    if (sending) sending->wait();
    mine.waiting += sg::Engine::get_clock() - begin;
    sg::this_actor::sleep_for(handed_over() / machine_.kind().copy);
    sent_at_[at(r)] = sg::Engine::get_clock();
    machine_.count(from, roles_.analysis[at(server)], handed_over());
    sending = box("atoms", r, server)->put_async(&word_, static_cast<uint64_t>(handed_over()));
    mine.finished.push_back(sg::Engine::get_clock());
  }
  sending->wait();
}

std::vector<sg::CommPtr> Run::expect(int a) {
  std::vector<sg::CommPtr> out;
  for (const int client : clients_[at(a)]) out.push_back(receive("atoms", client, a));
  return out;
}

void Run::exchange_ghosts(int a) {
  std::vector<sg::CommPtr> under_way;
  for (const auto& [other, bytes] : ghosts_[at(a)]) {
    under_way.push_back(receive("ghosts", other, a));
    under_way.push_back(send("ghosts", roles_.analysis, a, other, bytes));
  }
  sg::Comm::wait_all(under_way);
}

// Up a binomial tree.
void Run::add_up(int a) {
  for (int bit = 1; bit < analysis_ranks(); bit *= 2) {
    if ((a & bit) != 0) {
      send("sums", roles_.analysis, a, a - bit, bytes_of_sums)->wait();
      return;
    }
    if (a + bit < analysis_ranks()) receive("sums", a + bit, a)->wait();
  }
}

void Run::analyse(int a) {
  Found& mine = analysis_[at(a)];
  auto arriving = expect(a);
  for (int p = 0; p < publications; ++p) {
    const double ready = sg::Engine::get_clock();
    sg::Comm::wait_all(arriving);
    double sent = ready;
    for (const int client : clients_[at(a)]) sent = std::max(sent, sent_at_[at(client)]);
    const double begin = sg::Engine::get_clock();
    mine.taking += std::max(0.0, begin - sent);
    if (c_.ahead && p + 1 < publications) arriving = expect(a);
    exchange_ghosts(a);
    // A rank analyses the data of all its clients: more expensive with more of them.
    sg::this_actor::sleep_for(c_.analysis * c_.every * c_.cost * atoms_here() *
                              static_cast<double>(clients_[at(a)].size()) / c_.ratio);
    add_up(a);
    mine.analysing += sg::Engine::get_clock() - begin;
    mine.finished.push_back(sg::Engine::get_clock());
    if (!c_.ahead && p + 1 < publications) arriving = expect(a);
  }
}

template <class Value>
double most(const std::vector<Found>& all, Value&& value) {
  double out = 0;
  for (const auto& one : all) out = std::max(out, value(one));
  return out;
}

template <class Value>
double mean(const std::vector<Found>& all, Value&& value) {
  double out = 0;
  for (const auto& one : all) out += value(one);
  return out / static_cast<double>(all.size());
}

void print_busiest(const char* title, const Machine& machine, double times) {
  std::printf(", \"%s\": {", title);
  bool is_first = true;
  for (int p = 0; p < parts; ++p) {
    const auto part = static_cast<Part>(p);
    const Busiest busiest = machine.busiest(part);
    if (busiest.bytes == 0) continue;
    std::printf("%s\"%s\": {\"bytes\": %.6g, \"seconds\": %.6g, \"all_bytes\": %.6g}",
                is_first ? "" : ", ", name_of(part), busiest.bytes / times, busiest.seconds / times,
                machine.bytes_over(part) / times);
    is_first = false;
  }
  std::printf("}");
}

void Run::print() const {
  const auto finished = [&](const std::vector<Found>& side, int p) {
    return most(side, [&](auto& f) { return f.finished[at(p)]; });
  };
  const auto period = [&](const std::vector<Found>& side) {
    return (finished(side, publications - 1) - finished(side, 0)) / (publications - 1);
  };
  std::printf(
      "{\"kind\": \"%s\", \"nodes\": %d, \"ratio\": %d, \"mapping\": \"%s\", \"atoms\": %.6g, "
      "\"every\": %d, \"ahead\": %s, \"routing\": \"%s\", \"mesh\": %.4g, \"between\": %.4g, "
      "\"cost\": %.4g, \"simulation\": %d, \"analysis\": %d, "
      "\"grid\": [%d, %d, %d], \"hand_over_bytes\": %.6g, \"placement_cost\": %.6g, "
      "\"step_seconds\": %.6g, "
      "\"stepping_seconds\": %.6g, \"computing_seconds\": %.6g, \"waiting_seconds\": %.6g, "
      "\"taking_seconds\": %.6g, \"taking_seconds_most\": %.6g, \"analysing_seconds\": %.6g",
      c_.kind.c_str(), c_.nodes, c_.ratio, c_.mapping.c_str(), c_.atoms.all, c_.every,
      c_.ahead ? "true" : "false", c_.routing == Routing::Minimal ? "minimal" : "adaptive",
      machine_.kind().mesh, machine_.kind().between, c_.cost, simulation_ranks(), analysis_ranks(),
      grid_[0], grid_[1], grid_[2], handed_over(), roles_.cost,
      std::max(period(simulation_), period(analysis_)) / c_.every,
      mean(simulation_, [](auto& f) { return f.stepping; }) / publications / c_.every,
      c_.cost * atoms_here(),
      mean(simulation_, [](auto& f) { return f.waiting; }) / publications / c_.every,
      mean(analysis_, [](auto& f) { return f.taking; }) / publications,
      most(analysis_, [](auto& f) { return f.taking; }) / publications,
      mean(analysis_, [](auto& f) { return f.analysing; }) / publications);
  print_busiest("busiest", machine_, publications * c_.every);
  machine_.forget_counts();
  for (size_t r = 0; r < roles_.server.size(); ++r)
    machine_.count(roles_.simulation[r], roles_.analysis[at(roles_.server[r])], handed_over());
  print_busiest("hand_over_alone", machine_, 1);
  std::printf("}\n");
}

/// Settings by name, as they are given.
void set(Case& c, NodeKind& node, const std::string& name, double value) {
  if (name == "nodes") c.nodes = static_cast<int>(value);
  else if (name == "every") c.every = static_cast<int>(value);
  else if (name == "ahead") c.ahead = value != 0;
  else if (name == "atoms") c.atoms.all = value;
  else if (name == "cost") c.cost = value;
  else if (name == "analysis") c.analysis = value;
  else if (name == "minimal") c.routing = value != 0 ? Routing::Minimal : Routing::Adaptive;
  else if (name == "copy") node.copy = value;
  else if (name == "memory") node.memory = value;
  else if (name == "between") node.between = value;
  else if (name == "mesh") node.mesh = value;
  else if (name == "nic") node.nic = value;
  else {
    std::fprintf(stderr, "mapping: no setting is called '%s'\n", name.c_str());
    std::exit(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  configure();
  if (argc < 3) {
    std::fputs("mapping: usage: mapping haswell|knl MAPPING [NAME=VALUE]...\n", stderr);
    return 2;
  }
  Case c{.kind = argv[1], .mapping = argv[2]};
  const bool is_haswell = c.kind == "haswell";
  NodeKind node = is_haswell ? haswell() : knights_landing();
  c.ratio = is_haswell ? 3 : 7;
  c.nodes = is_haswell ? 24 : 64;
  c.atoms.all = is_haswell ? 21e6 : 51e6;
  c.cost = is_haswell ? 7e-7 : 2e-6;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    set(c, node, text.substr(0, equals), std::atof(text.c_str() + equals + 1));
  }
  std::vector<int> places(static_cast<size_t>(c.nodes));
  std::iota(places.begin(), places.end(), 0);
  Machine machine(node, places, c.routing);
  Run run(machine, c, roles_of(machine, c.mapping, node.cores / (c.ratio + 1)));
  run.start();
  engine.run();
  run.print();
  return 0;
}

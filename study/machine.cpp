// SPDX-License-Identifier: BSD-3-Clause
// Links of a node come in the same order for every node, and those of the dragonfly behind them
// all: a link's number is arithmetic.
#include "machine.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

namespace study {

namespace sg = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

namespace {

// Aries: nodes a router, routers a chassis, chassis a group; rates of one direction.
constexpr int nodes_per_router = 4, slots = 16, chassis_per_group = 6;
constexpr int routers_per_group = slots * chassis_per_group;
constexpr double in_chassis = 5.25e9, in_group = 3 * 5.25e9, between_groups = 8 * 4.7e9;
constexpr double of_router = (slots - 1) * in_chassis + (chassis_per_group - 1) * in_group;

constexpr double copy_latency = 5e-7, nic_latency = 4e-7, router_latency = 1e-7;
constexpr int directions = 4;
constexpr double storage_rate = 5e9;  // of a gateway

}  // namespace

void configure() {
  xbt_log_control_set("xbt_cfg.thresh:warning");
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0",
        "network/bandwidth-factor:1", "network/latency-factor:1", "contexts/stack-size:64",
        "contexts/guard-size:0"})
    sg::Engine::set_config(setting);
}

NodeKind haswell() {
  return {.cores = 32, .domains = 2, .copy = 6e9, .memory = 57e9, .between = 30e9, .nic = 8e9};
}

NodeKind knights_landing() {
  return {.cores = 64, .columns = 8, .copy = 3e9, .memory = 350e9, .mesh = 54e9, .nic = 8e9};
}

const char* name_of(Part part) {
  constexpr const char* names[parts] = {"copy", "memory", "between", "mesh",
                                        "out",  "in",     "network", "storage"};
  return names[static_cast<int>(part)];
}

/// Asks the machine for routes, instead of tables.
class Machine::Zone : public routing::NetZoneImpl {
 public:
  explicit Zone(const Machine& machine) : NetZoneImpl("machine"), machine_(machine) {}
  void get_local_route(const routing::NetPoint* from, const routing::NetPoint* to,
                       routing::Route* into, double* latency) override {
    for (const int number :
         machine_.route(static_cast<int>(from->id()), static_cast<int>(to->id()))) {
      sg::Link* link = machine_.link(number);
      into->link_list_.push_back(link->get_impl());
      *latency += link->get_latency();
    }
  }

 private:
  const Machine& machine_;
};

Machine::Machine(const NodeKind& kind, std::vector<int> places, Routing routing, int gateways)
    : kind_(kind),
      places_(std::move(places)),
      routing_(routing),
      gateways_(gateways),
      zone_(new Zone(*this)) {
  sg::NetZone* zone = zone_->get_iface();
  for (int node = 0; node < nodes(); ++node) {
    add_node();
    for (int core = 0; core < kind_.cores; ++core)
      hosts_.push_back(zone->create_host(std::to_string(node * kind_.cores + core), 1e9)->seal());
    if (node == 0) per_node_ = static_cast<int>(links_.size());
  }
  network_ = static_cast<int>(links_.size());
  groups_ =
      *std::max_element(places_.begin(), places_.end()) / (nodes_per_router * routers_per_group) +
      1;
  add_network();
  storage_ = static_cast<int>(links_.size());
  for (int i = 0; i < gateways_; ++i) add(Part::Storage, storage_rate, 0);
  zone->seal();
}

Machine::~Machine() = default;

int Machine::add(Part part, double rate, double latency) {
  const auto number = static_cast<int>(links_.size());
  sg::Link* link = zone_->get_iface()
                       ->create_link(std::string(name_of(part)) + std::to_string(number), rate)
                       ->set_latency(latency)
                       ->seal();
  links_.push_back({part, rate, link, 0});
  return number;
}

// Copies, memory, out, in, then what joins domains or cores.
void Machine::add_node() {
  for (int core = 0; core < kind_.cores; ++core) add(Part::Copy, kind_.copy, copy_latency);
  for (int domain = 0; domain < kind_.domains; ++domain) add(Part::Memory, kind_.memory, 0);
  add(Part::Out, kind_.nic, nic_latency);
  add(Part::In, kind_.nic, nic_latency);
  if (kind_.columns > 0)
    for (int i = 0; i < kind_.cores * directions; ++i) add(Part::Mesh, kind_.mesh, 0);
  else
    for (int i = 0; i < kind_.domains * kind_.domains; ++i) add(Part::Between, kind_.between, 0);
}

int Machine::links_of_group() const {
  return routing_ == Routing::Adaptive ? 2 * routers_per_group
                                       : routers_per_group * (slots + chassis_per_group);
}

// For each group: what goes out of each router and into it; or routers of a chassis to each other,
// then chassis to each other by slot. Behind them all, the groups to each other.
void Machine::add_network() {
  for (int group = 0; group < groups_; ++group)
    for (int i = 0; i < links_of_group(); ++i) {
      const double alone = i < routers_per_group * slots ? in_chassis : in_group;
      add(Part::Network, routing_ == Routing::Adaptive ? of_router / 2 : alone, router_latency);
    }
  for (int i = 0; i < groups_ * groups_; ++i) add(Part::Network, between_groups, router_latency);
}

pillion::topology::Location Machine::location(int core) const {
  const int in_node = core % kind_.cores;
  pillion::topology::Location location{.node = core / kind_.cores,
                                       .package = domain_of(in_node),
                                       .numa = domain_of(in_node),
                                       .cache = domain_of(in_node),
                                       .core = in_node};
  if (kind_.columns > 0) {
    location.column = in_node % kind_.columns;
    location.row = in_node / kind_.columns;
  }
  return location;
}

int Machine::domain_of(int core) const { return core * kind_.domains / kind_.cores; }

int Machine::memory_of(int core) const { return kind_.cores + domain_of(core); }

void Machine::cross_domains(int node, int from, int to, std::vector<int>& out) const {
  const int first = first_of(node) + kind_.cores + kind_.domains + 2;
  if (from != to) out.push_back(first + from * kind_.domains + to);
}

// Along the column first, then along the row, as Knights Landing does.
void Machine::cross_mesh(int node, int from, int to, std::vector<int>& out) const {
  const int first = first_of(node) + kind_.cores + kind_.domains + 2;
  int column = from % kind_.columns, row = from / kind_.columns;
  const auto step = [&](int direction) {
    out.push_back(first + (row * kind_.columns + column) * directions + direction);
  };
  for (const int end = to / kind_.columns; row != end; row += row < end ? 1 : -1)
    step(row < end ? 0 : 1);
  for (const int end = to % kind_.columns; column != end; column += column < end ? 1 : -1)
    step(column < end ? 2 : 3);
}

void Machine::move_inside(int node, int from, int to, std::vector<int>& out) const {
  if (kind_.columns > 0) cross_mesh(node, from, to, out);
  else cross_domains(node, domain_of(from), domain_of(to), out);
}

// Minimal: to the right slot, then to the right chassis.
void Machine::cross_group(int from, int to, std::vector<int>& out) const {
  const int first = network_ + from / routers_per_group * links_of_group();
  const int here = from % routers_per_group, there = to % routers_per_group;
  if (here == there) return;
  if (routing_ == Routing::Adaptive) {
    out.insert(out.end(), {first + 2 * here, first + 2 * there + 1});
    return;
  }
  const int turn = here / slots * slots + there % slots;
  if (turn != here) out.push_back(first + here * slots + there % slots);
  if (turn != there)
    out.push_back(first + routers_per_group * slots + turn * chassis_per_group + there / slots);
}

// To another group by a router that depends on it.
void Machine::cross_network(int from, int to, std::vector<int>& out) const {
  const int group = from / routers_per_group, other = to / routers_per_group;
  if (group == other) return cross_group(from, to, out);
  cross_group(from, group * routers_per_group + (other * 7 + from) % routers_per_group, out);
  out.push_back(network_ + groups_ * links_of_group() + group * groups_ + other);
  cross_group(other * routers_per_group + (group * 7 + to) % routers_per_group, to, out);
}

// Inside a node the receiver's core copies: a byte is read in the sender's memory and written in
// its own. Beyond, network interfaces do; they sit by core 0.
std::vector<int> Machine::route(int from, int to) const {
  std::vector<int> out;
  const int node = from / kind_.cores, other = to / kind_.cores;
  const int core = from % kind_.cores, far = to % kind_.cores;
  const int ports = kind_.cores + kind_.domains;
  out.push_back(first_of(node) + memory_of(core));
  if (node == other) {
    move_inside(node, core, far, out);
    out.push_back(first_of(node) + far);
  } else {
    move_inside(node, core, 0, out);
    out.push_back(first_of(node) + ports);
    cross_network(places_[at(node)] / nodes_per_router, places_[at(other)] / nodes_per_router, out);
    out.push_back(first_of(other) + ports + 1);
    move_inside(other, 0, far, out);
  }
  out.push_back(first_of(other) + memory_of(far));
  if (other >= nodes() - gateways_) out.push_back(storage_ + other - (nodes() - gateways_));
  return out;
}

void Machine::count(int from, int to, double bytes) {
  for (const int number : route(from, to)) links_[at(number)].bytes += bytes;
}

void Machine::forget_counts() {
  for (Wire& wire : links_) wire.bytes = 0;
}

Busiest Machine::busiest(Part part) const {
  Busiest out;
  for (const Wire& wire : links_)
    if (wire.part == part && wire.bytes / wire.rate > out.seconds)
      out = {wire.bytes, wire.bytes / wire.rate};
  return out;
}

double Machine::bytes_over(Part part) const {
  double sum = 0;
  for (const Wire& wire : links_)
    if (wire.part == part) sum += wire.bytes;
  return sum;
}

}  // namespace study

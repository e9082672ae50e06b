// SPDX-License-Identifier: BSD-3-Clause
// A simulated machine down to its cores, for the study of mappings: nodes with domains of memory
// or a mesh inside, joined by a dragonfly. Routes are computed, not stored, so that thousands of
// cores cost nothing; each link counts what goes over it. study/mapping.md says where the
// figures are from.
#pragma once

#include <cstddef>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "topology/location.hpp"

namespace study {

/// Links give messages their full rate: none of the corrections for TCP. Once there is an engine.
void configure();

/// What a node has inside; bytes a second.
struct NodeKind {
  int cores = 0, domains = 1;
  int columns = 0;     ///< of the mesh that joins the cores; 0 for none
  double copy = 0;     ///< of one core, reading and writing each byte once
  double memory = 0;   ///< of one domain, reads and writes together
  double between = 0;  ///< from one domain to another
  double mesh = 0;     ///< one link of the mesh, one direction
  double nic = 0;      ///< one direction
};
NodeKind haswell();
NodeKind knights_landing();

/// A link's purpose; `names` has the same order.
enum class Part { Copy, Memory, Between, Mesh, Out, In, Network, Storage };
constexpr int parts = 8;
const char* name_of(Part part);

/// What went over the busiest link of a part.
struct Busiest {
  double bytes = 0;
  double seconds = 0;  ///< bytes over the link's rate: how long it was in use at least
};

/// Minimal: each pair of routers by its one shortest way. Adaptive: over all links of a group, each
/// byte over two of them, as if the routers were perfect at it. Real ones are between the two.
enum class Routing { Adaptive, Minimal };

class Machine {
 public:
  /// `places` are the nodes' places in the dragonfly, 4 to a router. The last `gateways` of them
  /// pass what they get on to storage. An engine must be there.
  Machine(const NodeKind& kind, std::vector<int> places, Routing routing, int gateways = 0);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] const NodeKind& kind() const { return kind_; }
  [[nodiscard]] int nodes() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] simgrid::s4u::Host* host(int core) const { return hosts_[at(core)]; }
  [[nodiscard]] pillion::topology::Location location(int core) const;

  /// Links between two cores, numbered over the machine; one is there twice if each byte crosses
  /// it twice.
  [[nodiscard]] std::vector<int> route(int from, int to) const;
  [[nodiscard]] simgrid::s4u::Link* link(int number) const { return links_[at(number)].link; }

  /// Counts a message. Nothing else is done with it.
  void count(int from, int to, double bytes);
  void forget_counts();
  [[nodiscard]] Busiest busiest(Part part) const;
  [[nodiscard]] double bytes_over(Part part) const;  ///< of all its links

 private:
  class Zone;
  struct Wire {
    Part part = Part::Copy;
    double rate = 0;
    simgrid::s4u::Link* link = nullptr;
    double bytes = 0;
  };
  static size_t at(int index) { return static_cast<size_t>(index); }
  int add(Part part, double rate, double latency);
  void add_node();
  void add_network();
  [[nodiscard]] int first_of(int node) const { return node * per_node_; }
  [[nodiscard]] int domain_of(int core) const;
  [[nodiscard]] int memory_of(int core) const;
  void cross_domains(int node, int from, int to, std::vector<int>& out) const;
  void cross_mesh(int node, int from, int to, std::vector<int>& out) const;
  void move_inside(int node, int from, int to, std::vector<int>& out) const;
  [[nodiscard]] int links_of_group() const;
  void cross_group(int from, int to, std::vector<int>& out) const;
  void cross_network(int from, int to, std::vector<int>& out) const;

  NodeKind kind_;
  std::vector<int> places_;
  Routing routing_;
  int gateways_;
  Zone* zone_;  // owned by the engine
  std::vector<Wire> links_;
  std::vector<simgrid::s4u::Host*> hosts_;
  int per_node_ = 0;  // links of a node
  int network_ = 0;   // the first link between routers
  int storage_ = 0;   // the first link to storage
  int groups_ = 1;
};

}  // namespace study

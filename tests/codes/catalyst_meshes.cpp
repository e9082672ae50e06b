// SPDX-License-Identifier: BSD-3-Clause
// A simulation that passes meshes of Blueprint to Catalyst, of a kind that its user names:
//   catalyst_meshes KIND STEPS DOMAINS CONFIGURATION [WANTED]
// Each rank has DOMAINS domains. Values are coordinates, so a stage that gets values together with
// their places finds each one that is wrong. After each call all memory is overwritten and freed.
// With WANTED, a path of catalyst_results, rank 0 prints its value after each step. If the variable
// AWAITED names a file, the second step waits until it is there.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catalyst.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using conduit_cpp::Node;
using Triple = std::array<double, 3>;

constexpr std::array<int, 3> whole = {8, 5, 4};  // cells
constexpr Triple origin = {-1, 2, 0.25};
constexpr double width = 0.5;
/// The node itself: copies of a Node are copies of all that is in it.
Node same(const Node& node) { return conduit_cpp::cpp_node(conduit_cpp::c_node(&node)); }

const char* const axes[] = {"x", "y", "z"};

#pragma pack(push, 4)
/// As codes keep particles: members of other sizes between the coordinates.
struct Packed {
  double place[3];
  int32_t number;
};
#pragma pack(pop)

/// Memory that a step's node points at.
struct Memory {
  std::deque<std::vector<double>> reals;
  std::deque<std::vector<float>> singles;
  std::deque<std::vector<int64_t>> longs;
  std::deque<std::vector<int32_t>> ints;
  std::deque<std::vector<uint8_t>> bytes;
  std::deque<std::vector<Packed>> packed;
  template <class T>
  static void spoil(std::deque<std::vector<T>>& all) {
    for (auto& each : all) std::memset(each.data(), 0x5a, each.size() * sizeof(T));
  }
  ~Memory() {
    spoil(reals), spoil(singles), spoil(longs), spoil(ints), spoil(bytes), spoil(packed);
  }
  double* put(std::vector<double> values) { return reals.emplace_back(std::move(values)).data(); }
};

/// A box of cells of the whole, with places of its points and centres of its cells.
struct Grid {
  std::array<int, 3> lo{}, cells{};
  double size = width;
  bool is_sheared = false;

  [[nodiscard]] Triple place(double i, double j, double k) const {
    const Triple at = {origin[0] + (lo[0] + i) * size, origin[1] + (lo[1] + j) * size,
                       origin[2] + (lo[2] + k) * size};
    if (!is_sheared) return at;
    return {at[0] + 0.25 * at[1], at[1] + 0.125 * at[2], at[2]};
  }
  template <class F>
  static void each(std::array<int, 3> count, F&& f) {
    for (int k = 0; k < count[2]; ++k)
      for (int j = 0; j < count[1]; ++j)
        for (int i = 0; i < count[0]; ++i) f(i, j, k);
  }
  [[nodiscard]] std::vector<Triple> points() const {
    std::vector<Triple> out;
    each({cells[0] + 1, cells[1] + 1, cells[2] + 1},
         [&](int i, int j, int k) { out.push_back(place(i, j, k)); });
    return out;
  }
  [[nodiscard]] std::vector<Triple> centres() const {
    std::vector<Triple> out;
    each(cells, [&](int i, int j, int k) { out.push_back(place(i + 0.5, j + 0.5, k + 0.5)); });
    return out;
  }
  [[nodiscard]] int64_t point(int i, int j, int k) const {
    return i + int64_t{cells[0] + 1} * (j + int64_t{cells[1] + 1} * k);
  }
  [[nodiscard]] std::array<int64_t, 8> corners(int i, int j, int k) const {
    return {point(i, j, k),
            point(i + 1, j, k),
            point(i + 1, j + 1, k),
            point(i, j + 1, k),
            point(i, j, k + 1),
            point(i + 1, j, k + 1),
            point(i + 1, j + 1, k + 1),
            point(i, j + 1, k + 1)};
  }
};

class Writer {
 public:
  Writer(const Node& mesh, Memory& memory, int step)
      : mesh_(same(mesh)), memory_(memory), step_(step) {}

  /// Places of cells in four arrangements, numbers of four types, and places of points.
  void fields(const std::vector<Triple>& centres, const std::vector<Triple>& points,
              const std::string& topology = "topo") {
    auto apart = field("apart", topology, "element");
    auto joined = field("joined", topology, "element");
    auto mixed = field("mixed", topology, "element");
    auto number = field("number", topology, "element");
    auto single = field("single", topology, "element");
    auto small = field("small", topology, "element");
    auto& together = memory_.reals.emplace_back();
    auto& members = memory_.packed.emplace_back();
    auto& floats = memory_.singles.emplace_back();
    auto& little = memory_.bytes.emplace_back();
    for (const auto& at : centres) {
      Packed one{{at[0] + step_, at[1] + step_, at[2] + step_}, static_cast<int32_t>(8 * at[0])};
      together.insert(together.end(), one.place, one.place + 3);
      members.push_back(one);
      floats.push_back(static_cast<float>(at[0] + step_));
      little.push_back(static_cast<uint8_t>(8 * (at[2] + step_)));
    }
    const size_t count = centres.size();
    for (int d = 0; d < 3; ++d) {
      std::vector<double> along;
      for (const auto& at : centres) along.push_back(at[static_cast<size_t>(d)] + step_);
      apart["values"][axes[d]].set_external(memory_.put(along), count);
      joined["values"][axes[d]].set_external(together.data() + d, count, 0, 3 * sizeof(double));
      mixed["values"][axes[d]].set_external(&members.data()->place[d], count, 0, sizeof(Packed));
    }
    number["values"].set_external(&members.data()->number, count, 0, sizeof(Packed));
    single["values"].set_external(floats.data(), count);
    small["values"].set_external(little.data(), count);
    single["units"] = "m";
    if (!points.empty()) at_points(points, topology);
  }
  void at_points(const std::vector<Triple>& points, const std::string& topology = "topo") {
    auto corner = field("corner", topology, "vertex");
    std::vector<double> values;
    for (const auto& at : points)
      for (const double x : at) values.push_back(x + step_);
    const double* data = memory_.put(values);
    for (int d = 0; d < 3; ++d)
      corner["values"][axes[d]].set_external(data + d, points.size(), 0, 3 * sizeof(double));
  }
  void uniform(const Grid& grid) {
    auto coords = coordset("uniform");
    const Triple first = grid.place(0, 0, 0);
    for (int d = 0; d < 3; ++d) {
      const auto a = static_cast<size_t>(d);
      coords["dims"][std::string(1, static_cast<char>('i' + d))].set_int64(grid.cells[a] + 1);
      coords["origin"][axes[d]].set_float64(first[a]);
      coords["spacing"][std::string("d") + axes[d]].set_float64(grid.size);
    }
    topology("uniform");
  }
  void rectilinear(const Grid& grid) {
    auto coords = coordset("rectilinear");
    for (int d = 0; d < 3; ++d) {
      const auto a = static_cast<size_t>(d);
      std::vector<double> faces;
      for (int i = 0; i <= grid.cells[a]; ++i) faces.push_back(stretched(grid.lo[a] + i, d));
      const double* data = memory_.put(faces);
      coords["values"][axes[d]].set_external(data, faces.size());
    }
    topology("rectilinear");
  }
  /// Faces get further apart along each axis.
  static double stretched(int face, int axis) { return face * (1 + 0.125 * face) + axis; }
  static std::vector<Triple> stretched_centres(const Grid& grid) {
    std::vector<Triple> out;
    Grid::each(grid.cells, [&](int i, int j, int k) {
      const std::array<int, 3> at = {grid.lo[0] + i, grid.lo[1] + j, grid.lo[2] + k};
      Triple centre;
      for (int d = 0; d < 3; ++d)
        centre[static_cast<size_t>(d)] = (stretched(at[static_cast<size_t>(d)], d) +
                                          stretched(at[static_cast<size_t>(d)] + 1, d)) /
                                         2;
      out.push_back(centre);
    });
    return out;
  }
  void explicit_points(const std::vector<Triple>& points, bool are_joined) {
    auto coords = coordset("explicit");
    std::vector<double> together;
    for (const auto& at : points) together.insert(together.end(), at.begin(), at.end());
    const double* data = memory_.put(together);
    for (int d = 0; d < 3; ++d) {
      if (are_joined) {
        coords["values"][axes[d]].set_external(data + d, points.size(), 0, 3 * sizeof(double));
        continue;
      }
      std::vector<double> along;
      for (const auto& at : points) along.push_back(at[static_cast<size_t>(d)]);
      coords["values"][axes[d]].set_external(memory_.put(along), points.size());
    }
  }
  Node topology(const std::string& type) {
    auto topology = mesh_["topologies/topo"];
    topology["type"] = type;
    topology["coordset"] = "coords";
    return topology;
  }
  void structured(const Grid& grid, bool has_origin) {
    explicit_points(grid.points(), false);
    auto topo = topology("structured");
    for (int d = 0; d < 3; ++d) {
      const std::string axis(1, static_cast<char>('i' + d));
      topo["elements/dims"][axis].set_int32(grid.cells[static_cast<size_t>(d)]);
      if (has_origin)
        topo["elements/origin"][axis + "0"].set_int32(grid.lo[static_cast<size_t>(d)] + 3);
    }
  }
  /// The same within arrays that are larger by a cell at every side.
  void strided(Grid grid) {
    Grid around = grid;
    for (size_t a = 0; a < 3; ++a) --around.lo[a], around.cells[a] += 2;
    explicit_points(around.points(), true);
    auto topo = topology("structured");
    for (int d = 0; d < 3; ++d)
      topo["elements/dims"][std::string(1, static_cast<char>('i' + d))].set_int32(
          grid.cells[static_cast<size_t>(d)]);
    const auto strides_of = [&](int more) {
      const int nx = around.cells[0] + more, ny = around.cells[1] + more;
      return memory_.ints.emplace_back(std::vector<int32_t>{1, nx, nx * ny}).data();
    };
    const int32_t* ones = memory_.ints.emplace_back(std::vector<int32_t>{1, 1, 1}).data();
    topo["elements/dims/offsets"].set_external(ones, 3);
    topo["elements/dims/strides"].set_external(strides_of(1), 3);
    fields(around.centres(), around.points());
    auto all = mesh_["fields"];
    for (conduit_index_t f = 0; f < all.number_of_children(); ++f) {
      auto each = all[f];
      each["offsets"].set_external(ones, 3);
      each["strides"].set_external(strides_of(each["association"].as_string() == "vertex" ? 1 : 0),
                                   3);
    }
  }
  void ghosts(const char* name, const std::vector<uint8_t>& flags) {
    auto ghost = field(name, "topo", "element");
    ghost["values"].set_external(memory_.bytes.emplace_back(flags).data(), flags.size());
  }
  Node field(const std::string& name, const std::string& topology, const char* association) {
    auto field = mesh_["fields"][name];
    field["association"] = association;
    field["topology"] = topology;
    return field;
  }
  Node coordset(const char* type) {
    auto coords = mesh_["coordsets/coords"];
    coords["type"] = type;
    return coords;
  }
  int64_t* longs(std::vector<int64_t> values) {
    return memory_.longs.emplace_back(std::move(values)).data();
  }
  int32_t* ints(const std::vector<int64_t>& values) {
    return memory_.ints.emplace_back(values.begin(), values.end()).data();
  }

 private:
  Node mesh_;
  Memory& memory_;
  int step_;
};

Triple mean_of(const std::vector<Triple>& points, const std::vector<int64_t>& of) {
  Triple sum{};
  for (const int64_t p : of)
    for (size_t d = 0; d < 3; ++d) sum[d] += points[static_cast<size_t>(p)][d] / of.size();
  return sum;
}

void hexahedra(Writer& out, const Grid& grid) {
  std::vector<int64_t> connectivity;
  Grid::each(grid.cells, [&](int i, int j, int k) {
    for (const int64_t p : grid.corners(i, j, k)) connectivity.push_back(p);
  });
  const auto points = grid.points();
  out.explicit_points(points, false);
  auto topo = out.topology("unstructured");
  topo["elements/shape"] = "hex";
  topo["elements/connectivity"].set_external(out.ints(connectivity), connectivity.size());
  out.fields(grid.centres(), points);
}

/// Hexahedra, and in the upper half two wedges in the place of each.
void mixed(Writer& out, const Grid& grid) {
  std::vector<int64_t> connectivity, shapes, sizes, offsets;
  std::vector<Triple> centres;
  const auto points = grid.points();
  const auto add = [&](int64_t shape, const std::vector<int64_t>& of) {
    shapes.push_back(shape);
    sizes.push_back(static_cast<int64_t>(of.size()));
    offsets.push_back(static_cast<int64_t>(connectivity.size()));
    connectivity.insert(connectivity.end(), of.begin(), of.end());
    centres.push_back(mean_of(points, of));
  };
  Grid::each(grid.cells, [&](int i, int j, int k) {
    const auto c = grid.corners(i, j, k);
    if (k < 2) return add(4, {c.begin(), c.end()});
    add(6, {c[0], c[1], c[2], c[4], c[5], c[6]});
    add(6, {c[0], c[2], c[3], c[4], c[6], c[7]});
  });
  out.explicit_points(points, true);
  auto topo = out.topology("unstructured");
  topo["elements/shape"] = "mixed";
  topo["elements/shape_map/hex"].set_int32(4);
  topo["elements/shape_map/wedge"].set_int32(6);
  topo["elements/shapes"].set_external(out.ints(shapes), shapes.size());
  topo["elements/sizes"].set_external(out.ints(sizes), sizes.size());
  topo["elements/offsets"].set_external(out.ints(offsets), offsets.size());
  topo["elements/connectivity"].set_external(out.longs(connectivity), connectivity.size());
  out.fields(centres, points);
}

void polyhedra(Writer& out, const Grid& grid) {
  static constexpr int faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                      {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
  std::vector<int64_t> of_cells, of_faces, sizes, face_sizes;
  Grid::each(grid.cells, [&](int i, int j, int k) {
    const auto c = grid.corners(i, j, k);
    for (const auto& face : faces) {
      of_cells.push_back(static_cast<int64_t>(face_sizes.size()));
      face_sizes.push_back(4);
      for (const int corner : face) of_faces.push_back(c[static_cast<size_t>(corner)]);
    }
    sizes.push_back(6);
  });
  out.explicit_points(grid.points(), false);
  auto topo = out.topology("unstructured");
  topo["elements/shape"] = "polyhedral";
  topo["elements/connectivity"].set_external(out.ints(of_cells), of_cells.size());
  topo["elements/sizes"].set_external(out.ints(sizes), sizes.size());
  topo["subelements/shape"] = "polygonal";
  topo["subelements/connectivity"].set_external(out.longs(of_faces), of_faces.size());
  topo["subelements/sizes"].set_external(out.longs(face_sizes), face_sizes.size());
  out.fields(grid.centres(), grid.points());
}

/// A sheet of pentagons and triangles in each layer of cells along z.
void polygons(Writer& out, const Grid& grid) {
  std::vector<int64_t> connectivity, sizes;
  std::vector<Triple> centres, points;
  Grid::each(grid.cells, [&](int i, int j, int k) {
    const auto first = static_cast<int64_t>(points.size());
    for (const auto& [a, b] :
         {std::pair{0.0, 0.0}, {1.0, 0.0}, {1.0, 0.5}, {0.5, 1.0}, {0.0, 1.0}, {1.0, 1.0}})
      points.push_back(grid.place(i + a, j + b, k));
    for (const auto& cell : {std::vector<int64_t>{0, 1, 2, 3, 4}, {2, 5, 3}}) {
      std::vector<int64_t> of;
      for (const int64_t p : cell) of.push_back(first + p);
      sizes.push_back(static_cast<int64_t>(of.size()));
      connectivity.insert(connectivity.end(), of.begin(), of.end());
      centres.push_back(mean_of(points, of));
    }
  });
  out.explicit_points(points, true);
  auto topo = out.topology("unstructured");
  topo["elements/shape"] = "polygonal";
  topo["elements/connectivity"].set_external(out.longs(connectivity), connectivity.size());
  topo["elements/sizes"].set_external(out.longs(sizes), sizes.size());
  out.fields(centres, points);
}

void particles(Writer& out, const Grid& grid, bool as_cells, bool has_ghosts) {
  const auto centres = grid.centres();
  out.explicit_points(centres, as_cells);
  auto topo = out.topology(as_cells ? "unstructured" : "points");
  if (as_cells) {
    std::vector<int64_t> each;
    for (size_t i = 0; i < centres.size(); ++i) each.push_back(static_cast<int64_t>(i));
    topo["elements/shape"] = "point";
    topo["elements/connectivity"].set_external(out.longs(each), each.size());
  }
  out.fields(centres, {});
  if (!has_ghosts) return;
  std::vector<uint8_t> flags;
  for (const auto& at : centres) flags.push_back(at[2] > origin[2] + 2 * width ? 1 : 0);
  out.ghosts("vtkGhostType", flags);
}

/// With a layer of ghost cells at both ends of the first axis, whose values are wrong.
void with_ghosts(Writer& out, const Grid& grid, bool of_ascent) {
  Grid around = grid;
  --around.lo[0], around.cells[0] += 2;
  out.uniform(around);
  auto centres = around.centres();
  std::vector<uint8_t> flags;
  Grid::each(around.cells, [&](int i, int, int) {
    const bool is_ghost = i == 0 || i == around.cells[0] - 1;
    if (is_ghost) centres[flags.size()] = {1e10, 1e10, 1e10};
    flags.push_back(is_ghost ? 1 : 0);
  });
  out.fields(centres, around.points());
  out.ghosts(of_ascent ? "ascent_ghosts" : "vtkGhostType", flags);
}

struct Domain {
  int number, count;  ///< of all
  [[nodiscard]] Grid slab() const {
    const int first = whole[0] * number / count, last = whole[0] * (number + 1) / count;
    return {{first, 0, 0}, {last - first, whole[1], whole[2]}};
  }
};

void write(const std::string& kind, const Domain& domain, Writer& out) {
  Grid grid = domain.slab();
  if (kind == "uniform" || kind == "holes") {
    out.uniform(grid);
    return out.fields(grid.centres(), grid.points());
  }
  if (kind == "ghosts" || kind == "ascent_ghosts")
    return with_ghosts(out, grid, kind == "ascent_ghosts");
  if (kind == "rectilinear") {
    out.rectilinear(grid);
    return out.fields(Writer::stretched_centres(grid), {});
  }
  grid.is_sheared = true;
  if (kind == "structured" || kind == "structured_plain") {
    out.structured(grid, kind == "structured");
    return out.fields(grid.centres(), grid.points());
  }
  if (kind == "strided") return out.strided(grid);
  if (kind == "hexahedra") return hexahedra(out, grid);
  if (kind == "mixed") return mixed(out, grid);
  if (kind == "polyhedra") return polyhedra(out, grid);
  if (kind == "polygons") return polygons(out, grid);
  if (kind == "points" || kind == "points_with_ghosts")
    return particles(out, grid, false, kind == "points_with_ghosts");
  if (kind == "point_cells") return particles(out, grid, true, false);
  std::fprintf(stderr, "unknown kind %s\n", kind.c_str());
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/// Slabs of the coarse level, and in the middle of each a finer box that moves with the step.
void refined(Node&& data, const Domain& domain, Memory& memory, int step) {
  const Grid coarse = domain.slab();
  Grid fine{{2 * coarse.lo[0], 2 + 2 * (step % 3), 2}, {2 * coarse.cells[0], 4, 4}, width / 2};
  int level = 0;
  for (const Grid& grid : {coarse, fine}) {
    const int number = domain.number + level * domain.count;
    auto mesh = data["domain_" + std::to_string(number)];
    mesh["state/domain_id"].set_int64(number);
    mesh["state/level_id"].set_int64(level);
    Writer out(mesh, memory, step);
    out.uniform(grid);
    out.fields(grid.centres(), {});
    auto window = mesh["nestsets/nest/windows/window_0"];
    mesh["nestsets/nest/association"] = "element";
    mesh["nestsets/nest/topology"] = "topo";
    window["domain_id"].set_int64(domain.number + (1 - level) * domain.count);
    window["domain_type"] = level == 0 ? "child" : "parent";
    for (const char* axis : {"i", "j", "k"}) window["ratio"][axis].set_int64(2);
    ++level;
  }
}

void put_channel(Node&& channel, const std::string& kind, int first, int domains, int all,
                 Memory& memory, int step) {
  if (kind == "levels") {
    channel["type"] = "amrmesh";
    for (int d = first; d < first + domains; ++d) refined(channel["data"], {d, all}, memory, step);
    return;
  }
  if (kind == "blocks") {
    channel["type"] = "multimesh";
    for (int d = first; d < first + domains; ++d) {
      Writer fluid(channel["data"]["fluid_" + std::to_string(d)], memory, step);
      write("hexahedra", {d, all}, fluid);
      Writer tracers(channel["data"]["tracers_" + std::to_string(d)], memory, step);
      write("points", {d, all}, tracers);
    }
    return;
  }
  channel["type"] = "mesh";
  for (int d = first; d < first + domains; ++d) {
    if (kind == "holes" && d == all / 2) continue;
    auto mesh = domains == 1 ? channel["data"] : channel["data"]["domain_" + std::to_string(d)];
    Writer out(mesh, memory, step);
    write(kind, {d, all}, out);
  }
}

int report(const char* call, catalyst_status status) {
  if (status != catalyst_status_ok) std::printf("%s: status %d\n", call, static_cast<int>(status));
  return status != catalyst_status_ok;
}

void show_result(const char* path, int step) {
  Node results;
  report("results", catalyst_results(conduit_cpp::c_node(&results)));
  if (results.has_path(path))
    std::printf("result of step %d: %.17g\n", step, results[path].to_float64());
  else std::printf("no result of step %d\n", step);
}

void await(int step, int rank) {
  const char* file = std::getenv("AWAITED");
  if (file == nullptr || step != 1) return;
  while (rank == 0 && access(file, F_OK) != 0) usleep(10000);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  const std::string kind = argv[1];
  const int steps = std::atoi(argv[2]), domains = std::atoi(argv[3]);
  int rank = 0, ranks = 1, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // With the first letter in upper case the first rank has no domain.
  const bool is_first_idle = kind.front() >= 'A' && kind.front() <= 'Z';
  std::string name = kind;
  name.front() = static_cast<char>(name.front() | 0x20);
  const int place = is_first_idle ? rank - 1 : rank, workers = is_first_idle ? ranks - 1 : ranks;

  Node start;
  start["catalyst/mpi_comm"].set_int64(MPI_Comm_c2f(MPI_COMM_WORLD));
  start["catalyst/scripts/analyses"] = argv[4];
  failures += report("initialize", catalyst_initialize(conduit_cpp::c_node(&start)));
  for (int step = 0; step < steps; ++step) {
    await(step, rank);
    Memory memory;
    Node node;
    node["catalyst/state/timestep"].set_int64(step);
    node["catalyst/state/time"].set_float64(0.25 * step);
    if (place >= 0)
      put_channel(node["catalyst/channels/grid"], name, place * domains, domains, workers * domains,
                  memory, step);
    failures += report("execute", catalyst_execute(conduit_cpp::c_node(&node)));
    if (argc > 5 && rank == 0) show_result(argv[5], step);
    else if (argc > 5) {
      Node results;
      catalyst_results(conduit_cpp::c_node(&results));
    }
  }
  Node end;
  failures += report("finalize", catalyst_finalize(conduit_cpp::c_node(&end)));
  MPI_Finalize();
  std::printf("the simulation has ended\n");
  return failures;
}

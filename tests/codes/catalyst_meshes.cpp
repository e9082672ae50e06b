// SPDX-License-Identifier: BSD-3-Clause
// A simulation that passes meshes of Blueprint to Catalyst, of a kind that its user names:
//   catalyst_meshes KIND STEPS DOMAINS CONFIGURATION [WANTED]
// Each rank has DOMAINS domains. Values are coordinates, so a stage that gets values together with
// their places finds each one that is wrong. After each call all memory is overwritten and freed.
// With WANTED, a path of catalyst_results, rank 0 prints its value after each step. Variables of
// the environment: the second step waits until the file AWAITED is there; FIRST is the first step;
// CHECKPOINT is a folder to save to in the last step, RESTART one to resume from; LEVELS is a
// number of levels to announce; with ADDRESSES it prints where two fields are; with SPLIT the
// simulation's ranks are those of a split of the world, with OUTSIDE all but the first; MISTAKE
// names a mistake that one rank makes. The kind without_mpi is a program that only begins and ends.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "catalyst_writer.hpp"

namespace {

using namespace catalyst_meshes;

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

/// Quadrilaterals in a plane; those of the last domain have no third coordinate.
void flat(Writer& out, Node mesh, const Grid& grid, bool has_height) {
  std::vector<Triple> points;
  Grid::each({grid.cells[0] + 1, grid.cells[1] + 1, 1},
             [&](int i, int j, int) { points.push_back(grid.place(i, j, 1.5)); });
  if (has_height) out.mixed_points(points);
  else out.explicit_points(points, false);
  if (!has_height) mesh["coordsets/coords/values"].remove("z");
  auto topo = out.topology("structured");
  for (int d = 0; d < 2; ++d) {
    const std::string axis(1, static_cast<char>('i' + d));
    topo["elements/dims"][axis].set_int32(grid.cells[static_cast<size_t>(d)]);
    topo["elements/origin"][axis + "0"].set_int32(grid.lo[static_cast<size_t>(d)]);
  }
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

Grid sheared(Grid grid) {
  grid.is_sheared = true;
  return grid;
}

/// Hexahedra, and the quadrilaterals of their lowest faces as a topology of its own.
void with_skin(Writer& out, Node mesh, const Grid& grid) {
  hexahedra(out, grid);
  std::vector<int64_t> connectivity;
  std::vector<int64_t> numbers;
  Grid::each({grid.cells[0], grid.cells[1], 1}, [&](int i, int j, int) {
    const auto c = grid.corners(i, j, 0);
    connectivity.insert(connectivity.end(), c.begin(), c.begin() + 4);
    numbers.push_back(static_cast<int64_t>(1000 * grid.place(i + 0.5, j + 0.5, 0)[0]));
  });
  auto skin = mesh["topologies/skin"];
  skin["type"] = "unstructured";
  skin["coordset"] = "coords";
  skin["elements/shape"] = "quad";
  skin["elements/connectivity"].set_external(out.longs(connectivity), connectivity.size());
  auto shear = out.field("shear", "skin", "element");
  shear["values"].set_external(out.longs(numbers), numbers.size());
}

/// What Pillion does not take: all of a mesh, or a field of it.
void write_wrong(const std::string& kind, const Domain& domain, Writer& out, Node mesh, int step) {
  Grid grid = domain.slab();
  const bool is_last = domain.number == domain.count - 1;
  if (kind == "broken") {
    hexahedra(out, grid);
    if (step == 1 && is_last) mesh["topologies/topo/elements/shape"] = "dodecahedron";
    return;
  }
  if (kind == "overlap" && !is_last) ++grid.cells[0];
  if (kind == "uneven" && is_last) grid.size = width / 1.5;
  out.uniform(grid);
  out.fields(grid.centres(), grid.points());
  if ((kind == "thin" || kind == "wide") && step == 1 && is_last) {
    mesh["fields/single"].remove("values");
    if (kind == "thin") mesh["fields/single/values"].set(std::vector<float>(3));
    for (const char* axis : {"x", "y"})
      if (kind == "wide")
        mesh["fields/single/values"][axis].set(
            std::vector<float>(static_cast<size_t>(grid.cells[0]) * 20));
  }
  if ((kind == "misplaced" || (kind == "displaced" && step == 1)) && is_last)
    mesh["coordsets/coords/origin/y"].set_float64(origin[1] + 0.1);
  if (kind == "cylindrical") mesh["coordsets/coords/origin/r"].set_float64(0);
  if (kind == "basis") mesh["fields/apart"].remove("association");
  if (kind == "short") mesh["fields/apart/values/x"].set_external(out.ints({1, 2, 3}), 3);
  if (kind == "differs" && is_last)
    mesh["fields/number/values"].set(std::vector<float>(static_cast<size_t>(grid.cells[0]) * 20));
}

/// Slabs of the coarse level, and in the middle of each a finer box that moves with the step.
void refined(Node&& data, const Domain& domain, Memory& memory, int step, bool has_fine) {
  const Grid coarse = domain.slab();
  Grid fine{{2 * coarse.lo[0], 2 + 2 * (step % 3), 2}, {2 * coarse.cells[0], 4, 4}, width / 2};
  int level = 0;
  for (const Grid& grid : {coarse, fine}) {
    if (level == 1 && !has_fine) return;
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
  if (kind == "levels" || kind == "growing") {
    channel["type"] = "amrmesh";
    for (int d = first; d < first + domains; ++d)
      refined(channel["data"], {d, all}, memory, step, kind == "levels" || step > 0);
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
  static const std::vector<std::string> wrong = {"broken", "displaced",   "misplaced", "overlap",
                                                 "uneven", "cylindrical", "basis",     "short",
                                                 "thin",   "wide",        "differs"};
  const bool is_wrong = std::find(wrong.begin(), wrong.end(), kind) != wrong.end();
  channel["type"] = kind == "files" ? "ioss" : "mesh";
  for (int d = first; d < first + domains; ++d) {
    if ((kind == "holes" || kind == "thin") && d == all / 2) continue;
    auto mesh = domains == 1 ? channel["data"] : channel["data"]["domain_" + std::to_string(d)];
    Writer out(mesh, memory, step);
    if (is_wrong) write_wrong(kind, {d, all}, out, same(mesh), step);
    else if (kind == "flat") flat(out, same(mesh), Domain{d, all}.slab(), d < all - 1);
    else if (kind == "skin") with_skin(out, same(mesh), sheared(Domain{d, all}.slab()));
    else write(kind == "files" ? "uniform" : kind, {d, all}, out);
  }
}

/// What the other ranks do not do.
void make_mistake(const std::string& mistake, Node& node, int step, int rank) {
  const Node pillion = same(node["catalyst/pillion"]);
  if (mistake == "scalar" && rank == 1) same(pillion)["scalars/dt"] = "small";
  if (mistake == "scalars" && rank == 1) same(pillion).remove("scalars");
  if (mistake == "step" && rank == 1 && step > 0) node["catalyst/state/timestep"] = "small";
  const bool is_whole = mistake == "domain" && rank == 0;
  if (is_whole || (mistake == "half a domain" && rank == 1))
    same(pillion)["domains/grid/lo"].set(std::vector<double>(3, -8));
  if (is_whole) same(pillion)["domains/grid/hi"].set(std::vector<double>(3, 8));
}

/// The simulation continues in any case, and ends as if nothing had happened.
void report(const char* call, catalyst_status status) {
  if (status != catalyst_status_ok) std::printf("%s: status %d\n", call, static_cast<int>(status));
}

void show_result(const char* path, int step, int rank) {
  Node results;
  report("results", catalyst_results(conduit_cpp::c_node(&results)));
  if (rank > 0) return;
  if (results.has_path(path))
    std::printf("result of step %d: %.17g\n", step, results[path].to_float64());
  else std::printf("no result of step %d\n", step);
}

void await(int step, int rank, MPI_Comm comm) {
  const char* file = std::getenv("AWAITED");
  if (file == nullptr || step != 1) return;
  while (rank == 0 && access(file, F_OK) != 0) usleep(10000);
  MPI_Barrier(comm);
}

int without_mpi(const char* configuration) {
  Node start, end;
  start["catalyst/scripts/analyses"] = configuration;
  report("initialize", catalyst_initialize(conduit_cpp::c_node(&start)));
  report("finalize", catalyst_finalize(conduit_cpp::c_node(&end)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  if (std::strcmp(argv[1], "without_mpi") == 0) return without_mpi(argv[4]);
  MPI_Init(&argc, &argv);
  const std::string kind = argv[1];
  const int steps = std::atoi(argv[2]), domains = std::atoi(argv[3]);
  const auto variable = [](const char* name) { return std::getenv(name); };
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool is_outside = variable("OUTSIDE") != nullptr && rank == 0;
  if (variable("SPLIT") != nullptr) MPI_Comm_split(MPI_COMM_WORLD, is_outside ? 1 : 0, 0, &comm);
  if (is_outside) return MPI_Barrier(MPI_COMM_WORLD), MPI_Finalize();
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  // With the first letter in upper case the first rank has no domain.
  const bool is_first_idle = kind.front() >= 'A' && kind.front() <= 'Z';
  std::string name = kind;
  name.front() = static_cast<char>(name.front() | 0x20);
  const int place = is_first_idle ? rank - 1 : rank, workers = is_first_idle ? ranks - 1 : ranks;

  Node start;
  start["catalyst/mpi_comm"].set_int64(MPI_Comm_c2f(comm));
  start["catalyst/scripts/analyses"] = argv[4];
  start["catalyst/pillion/parameters/often"].set_int32(1);
  if (const char* from = variable("RESTART")) start["catalyst/pillion/restart"] = from;
  if (const char* levels = variable("LEVELS"))
    start["catalyst/pillion/levels"].set_int32(std::atoi(levels));
  report("initialize", catalyst_initialize(conduit_cpp::c_node(&start)));
  const int first = variable("FIRST") == nullptr ? 0 : std::atoi(variable("FIRST"));
  for (int step = first; step < first + steps; ++step) {
    await(step, rank, comm);
    Memory memory;
    Node node;
    node["catalyst/state/timestep"].set_int64(step);
    node["catalyst/state/time"].set_float64(0.25 * step);
    node["catalyst/pillion/scalars/dt"].set_float64(1 + step);
    if (const char* folder = variable("CHECKPOINT"); folder != nullptr && step == first + steps - 1)
      node["catalyst/pillion/checkpoint"] = folder;
    if (place >= 0)
      put_channel(node["catalyst/channels/grid"], name, place * domains, domains, workers * domains,
                  memory, step);
    if (const char* mistake = variable("MISTAKE")) make_mistake(mistake, node, step, rank);
    report("execute", catalyst_execute(conduit_cpp::c_node(&node)));
    if (argc > 5) show_result(argv[5], step, rank);
  }
  Node end;
  const bool is_late = variable("LATE") != nullptr;
  if (is_late) MPI_Finalize();
  report("finalize", catalyst_finalize(conduit_cpp::c_node(&end)));
  if (variable("SPLIT") != nullptr) MPI_Barrier(MPI_COMM_WORLD);
  if (!is_late) MPI_Finalize();
  std::printf("the simulation has ended\n");
  return 0;
}

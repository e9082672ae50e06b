// SPDX-License-Identifier: BSD-3-Clause
// The mesh of cell_sample.py, shared by a simulation in C++. Before it runs, ranges that contradict
// each other must be refused.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <pillion/session.hpp>
#include <vector>

namespace {

using Ids = std::vector<int64_t>;

constexpr double kPoints[16][3] = {{0, 0, 0},   {1, 0, 0},  {1, 1, 0},  {0, 1, 0},
                                   {0, 0, 1},   {1, 0, 1},  {1, 1, 1},  {0, 1, 1},
                                   {.5, .5, 2}, {2, 0, 0},  {2, 0, 1},  {1.5, .5, -1},
                                   {-1, 0, 0},  {-1, 1, 0}, {-1, 0, 1}, {-1, 1, 1}};

/// Coordinates of points, one point after the other.
std::vector<double> coordinates(const Ids& ids, int step) {
  std::vector<double> out;
  for (const int64_t id : ids)
    for (int d = 0; d < 3; ++d) out.push_back(kPoints[id][d] + (d == 2 ? 0.25 * step : 0.0));
  return out;
}

struct Mesh {
  Ids ids;    // of points
  Ids cells;  // their ids
  std::vector<uint8_t> types, flags;
  std::vector<int32_t> offsets{0}, points, face_offsets, face_points, polyhedron_offsets,
      polyhedron_faces;

  void add(int64_t id, uint8_t type, const std::vector<int64_t>& of, uint8_t flag = 0) {
    cells.push_back(id);
    types.push_back(type);
    flags.push_back(flag);
    for (const int64_t point : of) points.push_back(place(point));
    offsets.push_back(static_cast<int32_t>(points.size()));
  }
  void add_face(const std::vector<int64_t>& of) {
    if (face_offsets.empty()) face_offsets.push_back(0);
    for (const int64_t point : of) face_points.push_back(place(point));
    face_offsets.push_back(static_cast<int32_t>(face_points.size()));
  }
  [[nodiscard]] int32_t place(int64_t point) const {
    int32_t at = 0;
    while (ids[static_cast<size_t>(at)] != point) ++at;
    return at;
  }
  [[nodiscard]] pillion::Cells<int32_t> as_shared() const {
    pillion::Cells<int32_t> out;
    out.types = types;
    out.offsets = offsets;
    out.points = points;
    out.ids = cells;
    out.face_offsets = face_offsets;
    out.face_points = face_points;
    out.polyhedron_offsets = polyhedron_offsets;
    out.polyhedron_faces = polyhedron_faces;
    return out;
  }
};

Mesh fluid(int rank) {
  Mesh mesh;
  if (rank == 0) {
    mesh.ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    mesh.add(0, 12, {0, 1, 2, 3, 4, 5, 6, 7});
    mesh.add(2, 13, {1, 2, 9, 5, 6, 10}, 1);
    mesh.add(1, 14, {4, 5, 6, 7, 8});
    return mesh;
  }
  mesh.ids = {1, 2, 5, 6, 9, 10, 11, 0, 3, 4, 7, 12, 13, 14, 15};
  mesh.add(2, 13, {1, 2, 9, 5, 6, 10});
  mesh.add(3, 10, {1, 2, 9, 11});
  mesh.add(4, 42, {12, 0, 3, 13, 14, 4, 7, 15});
  mesh.add_face({12, 13, 3, 0});
  mesh.add_face({14, 4, 7, 15});
  mesh.add_face({12, 0, 4, 14});
  mesh.add_face({13, 15, 7, 3});
  mesh.add_face({12, 14, 15, 13});
  mesh.add_face({0, 3, 7, 4});
  mesh.polyhedron_offsets = {0, 0, 0, 6};
  mesh.polyhedron_faces = {0, 1, 2, 3, 4, 5};
  return mesh;
}

/// Its cells name points by their ids; those of rank 0 are all of one type.
std::vector<double> share_skin(pillion::Session& session, int rank) {
  const Ids ids = rank == 0 ? Ids{0, 1, 2, 3} : Ids{1, 9, 11, 12, 13, 15, 14};
  const Ids points = rank == 0 ? Ids{0, 3, 2, 1} : Ids{1, 9, 11, 12, 14, 15, 13};
  const Ids offsets{0, 3, 7};
  const Ids parents = rank == 0 ? Ids{0} : Ids{3, 4};
  const std::vector<uint8_t> types{5, 9};
  const std::vector<int32_t> patches =
      rank == 0 ? std::vector<int32_t>{0} : std::vector<int32_t>{1, 0};
  const auto where = coordinates(ids, 0);
  session.share_points("skin", where, static_cast<int64_t>(ids.size()), 0, ids);
  pillion::Cells<> cells;
  if (rank == 0) cells.type = 9;
  if (rank == 1) cells.types = types, cells.offsets = offsets;
  cells.points = points;
  cells.points_are_ids = true;
  cells.parents = parents;
  cells.patches = patches;
  session.share_cells("skin", cells);
  std::vector<double> stress;
  for (size_t c = 0; c < parents.size(); ++c)
    stress.push_back(100.0 * static_cast<double>(parents[c]) + patches[c]);
  return stress;
}

template <class F>
bool is_refused(F&& f) {
  try {
    f();
  } catch (const pillion::Error& error) {
    return error.code() == pillion::ErrorCode::Argument;
  }
  return false;
}

/// Whether all ranges whose lengths are wrong are refused.
bool are_refused(pillion::Session& session, const Mesh& mesh) {
  const auto with = [&](auto&& change) {
    auto cells = mesh.as_shared();
    change(cells);
    return is_refused([&] { session.share_cells("fluid", cells); });
  };
  const std::vector<double> where(10);
  return with([](auto& c) { c.offsets = c.offsets.first(2); }) &&
         with([](auto& c) { c.points = c.points.first(9); }) &&
         with([](auto& c) { c.ids = c.ids.first(1); }) && with([](auto& c) { c.offsets = {}; }) &&
         with([](auto& c) { c.types = {}, c.offsets = {}; }) &&
         is_refused([&] { session.share_points("fluid", where, 3); });
}

int simulate(pillion::Session& session) {
  int rank = 0;
  MPI_Comm_rank(session.communicator(), &rank);
  const Mesh mesh = fluid(rank);
  if (!are_refused(session, mesh)) return 1;
  auto cells = mesh.as_shared();
  if (rank == 0) cells.flags = mesh.flags;
  session.share_cells("fluid", cells);
  const std::vector<double> stress = share_skin(session, rank);
  std::vector<double> pressure(mesh.cells.size());
  std::vector<int32_t> number;
  for (const int64_t id : mesh.cells)
    number.insert(number.end(), {static_cast<int32_t>(id), static_cast<int32_t>(-id)});
  std::vector<float> velocity(3 * mesh.ids.size());
  session.share_values("pressure", pressure, static_cast<int64_t>(pressure.size()));
  session.share_values("number", number, static_cast<int64_t>(mesh.cells.size()));
  session.share_values("velocity", velocity, static_cast<int64_t>(mesh.ids.size()));
  session.share_values("stress", stress, static_cast<int64_t>(stress.size()));
  for (int step = 0; step < 3; ++step) {
    const auto where = coordinates(mesh.ids, step);
    for (size_t c = 0; c < pressure.size(); ++c)
      pressure[c] = static_cast<double>(10 * mesh.cells[c] + step);
    for (size_t i = 0; i < velocity.size(); ++i) velocity[i] = static_cast<float>(2 * where[i]);
    session.share_points("fluid", where, static_cast<int64_t>(mesh.ids.size()), 0, mesh.ids);
    session.step(step, 0.5 * step);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 0;
  try {
    auto session = pillion::Session::open("run.yaml", MPI_COMM_WORLD);
    if (!session.serve()) {
      result = simulate(session);
      session.close();
    }
  } catch (const pillion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    result = 1;
  }
  MPI_Finalize();
  return result;
}

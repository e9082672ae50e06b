// SPDX-License-Identifier: BSD-3-Clause
// Nodes of Blueprint for the program catalyst_meshes: boxes of cells, and fields on them in every
// arrangement of memory.
#pragma once

#include <array>
#include <catalyst.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace catalyst_meshes {

using conduit_cpp::Node;
using Triple = std::array<double, 3>;

inline constexpr std::array<int, 3> whole = {8, 5, 4};  // cells
inline constexpr Triple origin = {-1, 2, 0.25};
inline constexpr double width = 0.5;
/// The node itself: copies of a Node are copies of all that is in it.
inline Node same(const Node& node) { return conduit_cpp::cpp_node(conduit_cpp::c_node(&node)); }

inline const char* const axes[] = {"x", "y", "z"};

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
    if (std::getenv("ADDRESSES") != nullptr)
      std::printf("joined at %zu, number at %zu\n", reinterpret_cast<size_t>(together.data()),
                  reinterpret_cast<size_t>(&members.data()->number));
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
  /// The second coordinate in single precision, the same distance apart as the others.
  void mixed_points(const std::vector<Triple>& points) {
    auto coords = coordset("explicit");
    std::vector<double> together;
    for (const auto& at : points) {
      together.insert(together.end(), at.begin(), at.end());
      const auto y = static_cast<float>(at[1]);
      std::memcpy(&together[together.size() - 2], &y, sizeof y);
    }
    double* data = memory_.put(together);
    for (const int d : {0, 2})
      coords["values"][axes[d]].set_external(data + d, points.size(), 0, 3 * sizeof(double));
    coords["values/y"].set_external(reinterpret_cast<float*>(data + 1), points.size(), 0,
                                    3 * sizeof(double));
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

}  // namespace catalyst_meshes

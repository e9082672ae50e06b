// SPDX-License-Identifier: BSD-3-Clause
// Particles at random in domains of several shapes, shared out to ranks in blocks that lie in
// memory in any order, and who must get which of them, found by comparing all images of all
// particles with all parts of the domain.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

#include "layout/assignment.hpp"
#include "layout/cell.hpp"
#include "layout/request.hpp"
#include "random_boxes.hpp"

namespace random_particles {

using namespace pillion;
using layout::Index;
using layout::Request;
using layout::Vector;
using random_boxes::below;
using random_boxes::Random;

/// The other fields are functions of the identity.
struct Particle {
  int64_t id;
  Vector x;
};
inline int64_t type_of(int64_t id) { return (id % 5 + 5) % 5; }
inline float spin_of(int64_t id, int c) {
  return static_cast<float>(id % 1000) + 0.25f * static_cast<float>(c);
}
inline double stress_of(int64_t id, int c) { return static_cast<double>(7 * id + c); }

inline model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {atoms: {kind: particles}}\n"
      "fields:\n  id: {mesh: atoms, type: int64}\n  type: {mesh: atoms, type: int32}\n"
      "  x: {mesh: atoms, type: float64, components: 3}\n"
      "  spin: {mesh: atoms, type: float32, components: 3}\n"
      "  stress: {mesh: atoms, type: float64, components: 6}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

/// Edges of the domain, and lengths along the normals of its faces.
struct Shape {
  pillion_domain domain;
  std::array<Vector, 3> edges;
  std::array<Vector, 3> normals;

  explicit Shape(const pillion_domain& d) : domain(d) {
    edges[0] = {d.hi[0] - d.lo[0], 0, 0};
    edges[1] = {d.tilt[0], d.hi[1] - d.lo[1], 0};
    edges[2] = {d.tilt[1], d.tilt[2], d.hi[2] - d.lo[2]};
    if (is_flat()) edges[2] = {0, 0, d.hi[2] - d.lo[2]};
    for (size_t i = 0; i < 3; ++i) {
      const Vector &a = edges[(i + 1) % 3], &b = edges[(i + 2) % 3];
      Vector& n = normals[i];
      n = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
      const double length = std::hypot(n[0], n[1], n[2]);
      for (auto& c : n) c /= length;
    }
  }
  /// In two dimensions the third is open, and no division cuts it.
  [[nodiscard]] bool is_flat() const { return domain.dimensions == 2; }
  [[nodiscard]] bool is_open(size_t d) const {
    return domain.periodic[d] == 0 || (is_flat() && d == 2);
  }
  [[nodiscard]] std::array<int, 3> division(int ranks) const {
    return layout::division(ranks, {width(0), width(1), width(2)}, is_flat() ? 2 : 3);
  }
  static double dot(const Vector& a, const Vector& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }
  [[nodiscard]] double width(size_t d) const { return dot(edges[d], normals[d]); }
  /// How far a point is from the face that goes through the origin.
  [[nodiscard]] double height(size_t d, const Vector& x) const {
    return dot({x[0] - domain.lo[0], x[1] - domain.lo[1], x[2] - domain.lo[2]}, normals[d]);
  }
  [[nodiscard]] Vector moved(Vector x, const Index& by) const {
    for (size_t d = 0; d < 3; ++d)
      for (size_t c = 0; c < 3; ++c) x[c] += static_cast<double>(by[d]) * edges[d][c];
    return x;
  }
  [[nodiscard]] Vector at(const Vector& fractions) const {
    Vector x{domain.lo[0], domain.lo[1], domain.lo[2]};
    for (size_t d = 0; d < 3; ++d)
      for (size_t c = 0; c < 3; ++c) x[c] += fractions[d] * edges[d][c];
    return x;
  }
};

inline Shape some_shape(Random& random) {
  static const std::array<pillion_domain, 6> all{{
      {{-1, 0, 2}, {9, 8, 14}, {0, 0, 0}, {1, 1, 1}, 0},
      {{0, 0, 0}, {10, 8, 12}, {0, 0, 0}, {1, 0, 1}, 0},
      {{0, 1, 0}, {10, 11, 12}, {3, -2, 4}, {1, 1, 1}, 0},
      {{-5, -5, 0}, {5, 25, 7}, {-4, 2, 1}, {0, 1, 0}, 0},
      {{0, 0, 0}, {9, 9, 9}, {0, 0, 0}, {0, 0, 0}, 0},
      {{0, 0, -0.2}, {9, 12, 0.2}, {3, 0.1, -0.1}, {1, 1, 1}, 2},
  }};
  return Shape(all[static_cast<size_t>(below(random, 6))]);
}

/// Some are outside the domain. In half of the cases those that are near each other follow each
/// other.
inline std::vector<Particle> some_particles(const Shape& shape, int64_t count, Random& random) {
  std::uniform_real_distribution<double> uniform(-0.4, 1.4);
  std::vector<Particle> out;
  const int64_t step = 1 + below(random, 1000), first = below(random, 2000) - 1000;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(
        {first + step * i, shape.at({uniform(random), uniform(random), uniform(random)})});
  std::shuffle(out.begin(), out.end(), random);
  if (below(random, 2) == 0)
    std::sort(out.begin(), out.end(),
              [](const Particle& a, const Particle& b) { return a.x[2] < b.x[2]; });
  return out;
}

/// What one rank has, with the memory for it.
struct Held {
  model::MeshBlocks blocks;

  void add(const std::vector<Particle>& part, Random& random) {
    const auto count = static_cast<int64_t>(part.size());
    const model::Box box{{0, 0, 0}, {count, 1, 1}};
    model::Block block{static_cast<int32_t>(blocks.blocks.size()), box, count, {}};
    const auto put = [&]<class T>(const char* name, model::ElementType type, int32_t components, T,
                                  auto&& value) {
      int64_t size = 0;
      const auto strides = random_boxes::some_strides(box, components, random, size);
      auto memory = std::make_shared<std::vector<T>>(static_cast<size_t>(size), T{-77});
      for (int64_t i = 0; i < count; ++i)
        for (int32_t c = 0; c < components; ++c)
          (*memory)[static_cast<size_t>(i * strides[0] + c * strides[3])] =
              value(part[static_cast<size_t>(i)], c);
      block.arrays[name] = {memory->data(), type, components, strides};
      blocks.keep.push_back(memory);
    };
    using enum model::ElementType;
    put("id", Int64, 1, int64_t{}, [](const Particle& p, int) { return p.id; });
    put("type", Int32, 1, int32_t{},
        [](const Particle& p, int) { return static_cast<int32_t>(type_of(p.id)); });
    put("x", Float64, 3, double{},
        [](const Particle& p, int c) { return p.x[static_cast<size_t>(c)]; });
    put("spin", Float32, 3, float{}, [](const Particle& p, int c) { return spin_of(p.id, c); });
    put("stress", Float64, 6, double{},
        [](const Particle& p, int c) { return stress_of(p.id, c); });
    blocks.blocks.push_back(std::move(block));
  }
};

/// Some ranks have more than others, and some have nothing.
inline std::vector<Held> share_out(const std::vector<Particle>& all, int ranks, Random& random) {
  std::vector<Held> out(static_cast<size_t>(ranks));
  const int64_t busy = 1 + below(random, ranks);
  for (size_t at = 0; at < all.size();) {
    const auto count = std::min(static_cast<size_t>(below(random, 60)), all.size() - at);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    out[static_cast<size_t>(below(random, busy))].add(
        {begin, begin + static_cast<std::ptrdiff_t>(count)}, random);
    at += count;
  }
  return out;
}

inline Request some_request(layout::Kind kind, const Shape& shape, Random& random) {
  Request request{.fields = {"stress", "spin"}, .kind = kind};
  if (kind == layout::Kind::ByKey) request.key = below(random, 4) == 0 ? "type" : "id";
  if (kind == layout::Kind::Spatial) {
    request.position = "x";
    const double across = std::min(shape.width(0), shape.width(1));
    const double widest = shape.is_flat() ? across : std::min(across, shape.width(2));
    request.halo =
        below(random, 4) == 0 ? 0 : widest * static_cast<double>(below(random, 101)) / 100;
  }
  request.fields.emplace_back("id");
  if (below(random, 2) == 0) {
    request.select = "type";
    request.select_values = {1, 3};
  }
  return request;
}

inline std::vector<Particle> selected(const std::vector<Particle>& all, const Request& request) {
  if (request.select.empty()) return all;
  std::vector<Particle> out;
  for (const auto& p : all)
    if (type_of(p.id) == 1 || type_of(p.id) == 3) out.push_back(p);
  return out;
}

/// What has arrived, with values checked against identities.
struct Arrived {
  std::vector<int64_t> ids;
  std::vector<Vector> x;  ///< if it was asked for
  size_t owned;

  Arrived(const model::MeshBlocks& out, const Request& request) {
    REQUIRE(out.blocks.size() == 1);
    const auto& block = out.blocks.front();
    const auto count = static_cast<size_t>(block.box.volume());
    owned = static_cast<size_t>(block.owned);
    const auto values = [&]<class T>(const char* name, T) {
      return static_cast<const T*>(block.arrays.at(name).data);
    };
    const auto* id = values("id", int64_t{});
    ids.assign(id, id + count);
    const auto* spin = values("spin", float{});
    const auto* stress = values("stress", double{});
    int64_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
      for (int c = 0; c < 3; ++c)
        wrong += spin[3 * i + static_cast<size_t>(c)] == spin_of(ids[i], c) ? 0 : 1;
      for (int c = 0; c < 6; ++c)
        wrong += stress[6 * i + static_cast<size_t>(c)] == stress_of(ids[i], c) ? 0 : 1;
    }
    if (request.needed().size() != block.arrays.size()) ++wrong;
    CHECK(wrong == 0);
    if (request.position.empty()) return;
    const auto* at = values("x", double{});
    for (size_t i = 0; i < count; ++i) x.push_back({at[3 * i], at[3 * i + 1], at[3 * i + 2]});
  }
};

inline void check_by_key(const std::vector<Particle>& all, const Request& request, int rank,
                         int ranks, const model::MeshBlocks& out) {
  const Arrived arrived(out, request);
  const auto key_of = [&](int64_t id) { return request.key == "id" ? id : type_of(id); };
  std::vector<int64_t> expected, keys;
  for (const auto& p : selected(all, request))
    if (layout::owner_of(key_of(p.id), ranks) == rank) expected.push_back(p.id);
  for (const auto id : arrived.ids) keys.push_back(key_of(id));
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  auto got = arrived.ids;
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  CHECK(got == expected);
  CHECK(arrived.owned == arrived.ids.size());
}

/// A particle and where its image is.
struct Seen {
  int64_t id;
  Index by;
  friend auto operator<=>(const Seen&, const Seen&) = default;
};

/// Calls function(particle, displacement) for each image that lies no farther than `halo` outside a
/// part of the domain.
template <class Function>
void each_seen(const std::vector<Particle>& all, const Shape& shape, const Index& part,
               const std::array<int, 3>& parts, double halo, Function&& function) {
  Index most{};
  for (size_t d = 0; d < 3; ++d) most[d] = shape.is_open(d) ? 0 : 3;
  const auto is_seen = [&](const Vector& x) {
    for (size_t d = 0; d < 3; ++d) {
      const double step = shape.width(d) / parts[d], h = shape.height(d, x);
      const bool open = shape.is_open(d);
      const double lo = step * static_cast<double>(part[d]) - halo;
      const double hi = step * static_cast<double>(part[d] + 1) + halo;
      if (h < lo && !(open && part[d] == 0)) return false;
      if (h >= hi && !(open && part[d] + 1 == parts[d])) return false;
    }
    return true;
  };
  Index by{};
  for (const auto& p : all)
    for (by[0] = -most[0]; by[0] <= most[0]; ++by[0])
      for (by[1] = -most[1]; by[1] <= most[1]; ++by[1])
        for (by[2] = -most[2]; by[2] <= most[2]; ++by[2])
          if (is_seen(shape.moved(p.x, by))) function(p, by);
}

/// What has arrived, as particles and their displacements, sorted.
inline std::vector<Seen> seen(const std::vector<Particle>& all, const Shape& shape,
                              const Arrived& arrived, size_t begin, size_t end) {
  std::vector<Seen> out;
  int64_t misplaced = 0;
  for (size_t i = begin; i < end; ++i) {
    const auto p = std::find_if(all.begin(), all.end(),
                                [&](const Particle& q) { return q.id == arrived.ids[i]; });
    REQUIRE(p != all.end());
    Seen s{p->id, {}};
    for (size_t d = 0; d < 3; ++d)
      s.by[d] =
          std::llround((shape.height(d, arrived.x[i]) - shape.height(d, p->x)) / shape.width(d));
    const Vector x = shape.moved(p->x, s.by);
    for (size_t c = 0; c < 3; ++c) misplaced += std::abs(x[c] - arrived.x[i][c]) < 1e-9 ? 0 : 1;
    out.push_back(s);
  }
  CHECK(misplaced == 0);
  std::sort(out.begin(), out.end());
  return out;
}

inline void check_spatial(const std::vector<Particle>& all, const Shape& shape,
                          const Request& request, int rank, int ranks,
                          const model::MeshBlocks& out) {
  const Arrived arrived(out, request);
  const auto parts = shape.division(ranks);
  const Index part{rank % parts[0], rank / parts[0] % parts[1], rank / parts[0] / parts[1]};
  const auto wanted = selected(all, request);
  std::vector<Seen> own, near;
  each_seen(wanted, shape, part, parts, 0, [&](const Particle& p, const Index& by) {
    own.push_back({p.id, by});
  });
  each_seen(wanted, shape, part, parts, request.halo, [&](const Particle& p, const Index& by) {
    near.push_back({p.id, by});
  });
  std::sort(own.begin(), own.end());
  std::sort(near.begin(), near.end());
  std::vector<Seen> copies;
  std::set_difference(near.begin(), near.end(), own.begin(), own.end(), std::back_inserter(copies));
  CHECK(seen(wanted, shape, arrived, 0, arrived.owned) == own);
  CHECK(seen(wanted, shape, arrived, arrived.owned, arrived.ids.size()) == copies);
}

}  // namespace random_particles

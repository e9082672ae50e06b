// SPDX-License-Identifier: BSD-3-Clause
// Elements of a spectral mesh as pictures see them: the cells between an element's points as
// hexahedra, order^3 of them, or in two dimensions as order^2 quadrilaterals. Elements that touch
// have the same points on their common face or edge, and so the same triangles' corners.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/legendre.hpp"
#include "camera.hpp"
#include "colouring.hpp"
#include "layer.hpp"
#include "surface.hpp"

namespace pillion::stages::image {

/// A quantity on the elements, and where it comes from.
struct SpectralField {
  FieldComponent what;
  Slot slot;
};

/// One element of a block; good while it is used.
class Element {
 public:
  Element(const stage::Block& block, int64_t index, const Slot& coordinates,
          const stages::LobattoBasis& basis, int axes);

  [[nodiscard]] const std::vector<Vec>& places() const { return places_; }
  /// Values at the points; the same at all of them if the field has one for the element.
  void read(const SpectralField& field, std::vector<double>& values) const;
  /// Of a number with values at the points; by the polynomials that interpolate it.
  void gradient(const std::vector<double>& values, std::vector<Vec>& out) const;
  /// Of an element of two dimensions, at each point.
  void normals(std::vector<Vec>& out) const;
  /// Of a cell between points, those of its corners.
  [[nodiscard]] std::array<size_t, 8> corners(size_t i, size_t j, size_t k) const;
  /// Points along an axis.
  [[nodiscard]] size_t n() const { return basis_->size(); }

  /// Calls use(const Triangle&) for the surface on which `level` has a value.
  template <class F>
  void triangles(const std::vector<double>& level, double value, const std::vector<double>& shown,
                 const std::vector<Vec>& normal, F&& use) const {
    for (size_t k = 0; k + 1 < n(); ++k)
      for (size_t j = 0; j + 1 < n(); ++j)
        for (size_t i = 0; i + 1 < n(); ++i) {
          const auto corner = corners(i, j, k);
          const uint32_t above =
              corners_above(value, [&](int c) { return level[corner[static_cast<size_t>(c)]]; });
          if (!is_cut(above)) continue;
          std::array<Known, 8> known;
          for (size_t c = 0; c < 8; ++c)
            known[c] = {places_[corner[c]], level[corner[c]], normal[corner[c]], shown[corner[c]]};
          triangulate(known, above, value, use);
        }
  }

 private:
  stage::Block block_;
  int64_t index_;
  const stages::LobattoBasis* basis_;
  std::vector<Vec> places_;
};

/// The elements that a peer has, as the simulation shares them.
class Elements {
 public:
  explicit Elements(Sources& sources) : sources_(sources) {}

  /// A quantity of the mesh, which is that of the first one.
  SpectralField want(const FieldComponent& what);
  /// Of an element.
  [[nodiscard]] size_t points() const {
    const size_t n = basis_.front().size();
    return axes_ == 2 ? n * n : n * n * n;
  }

  void for_each(const stage::Step& step, const std::function<void(const Element&)>& use) const;
  void measure(const stage::Step& step, const SpectralField& field, Extremes& extremes) const;
  /// Makes the box so large that it holds the elements that this peer has.
  void enclose(const stage::Step& step, Box& box) const;
  /// All elements are in it. [peers]
  [[nodiscard]] Box box(const stage::Step& step) const;

 private:
  Sources& sources_;
  Slot coordinates_;
  int axes_ = 3;
  std::vector<stages::LobattoBasis> basis_;  ///< one, when the mesh is known
};

}  // namespace pillion::stages::image

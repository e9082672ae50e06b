// SPDX-License-Identifier: BSD-3-Clause
// Reading elements.
#include "spectral.hpp"

#include <algorithm>
#include <cmath>

#include "../common/elements.hpp"

namespace pillion::stages::image {

namespace {

/// Component c at point p of an element, as the host arranges it.
double at(const stage::Array& array, int64_t element, int64_t place) {
  const int64_t i = element * array.strides[0] + place * array.strides[3];
  return array.visit([i](const auto* data) { return static_cast<double>(data[i]); });
}

}  // namespace

Element::Element(const stage::Block& block, int64_t index, const Slot& coordinates,
                 const stages::LobattoBasis& basis, int axes)
    : block_(block), index_(index), basis_(&basis), places_(n() * n() * (axes == 2 ? 1 : n())) {
  const stage::Array array = block[coordinates.array];
  const auto points = static_cast<int64_t>(places_.size());
  const auto components = static_cast<int>(array.components / points);
  for (int64_t p = 0; p < points; ++p)
    for (int c = 0; c < components; ++c)
      places_[static_cast<size_t>(p)][c] = at(array, index, c * points + p);
}

void Element::read(const SpectralField& field, std::vector<double>& values) const {
  const stage::Array array = block_[field.slot.array];
  const auto points = static_cast<int64_t>(places_.size());
  const bool at_points = field.what.description.centering == PILLION_POINT;
  const int64_t per_component = at_points ? points : 1;
  values.resize(places_.size());
  for (int64_t p = 0; p < points; ++p) {
    const int64_t place = at_points ? p : 0;
    double& value = values[static_cast<size_t>(p)];
    if (field.what.component != stages::magnitude_of_all) {
      value = at(array, index_, field.what.component * per_component + place);
      continue;
    }
    double squares = 0;
    for (int32_t c = 0; c < field.what.description.components; ++c) {
      const double x = at(array, index_, c * per_component + place);
      squares += x * x;
    }
    value = std::sqrt(squares);
  }
}

void Element::gradient(const std::vector<double>& values, std::vector<Vec>& out) const {
  const size_t count = n();
  const auto& derivative = basis_->derivative;
  out.resize(places_.size());
  for (size_t p = 0; p < places_.size(); ++p) {
    const std::array<size_t, 3> place = {p % count, p / count % count, p / (count * count)};
    std::array<Vec, 3> edges;  // of the element, by axis: how places change along it
    Vec slopes;
    size_t stride = 1;
    for (size_t axis = 0; axis < 3; ++axis, stride *= count) {
      const size_t first = p - place[axis] * stride;
      for (size_t m = 0; m < count; ++m) {
        const double weight = derivative[place[axis] * count + m];
        edges[axis] = edges[axis] + weight * places_[first + m * stride];
        slopes[static_cast<int>(axis)] += weight * values[first + m * stride];
      }
    }
    const Vec yz = cross(edges[1], edges[2]), zx = cross(edges[2], edges[0]);
    const double volume = dot(edges[0], yz);
    out[p] = 1 / (volume != 0 ? volume : 1) *
             (slopes.x * yz + slopes.y * zx + slopes.z * cross(edges[0], edges[1]));
  }
}

void Element::normals(std::vector<Vec>& out) const {
  const size_t count = n();
  const auto& derivative = basis_->derivative;
  out.assign(places_.size(), {});
  for (size_t j = 0; j < count; ++j)
    for (size_t i = 0; i < count; ++i) {
      Vec along_first, along_second;
      for (size_t m = 0; m < count; ++m) {
        along_first = along_first + derivative[i * count + m] * places_[j * count + m];
        along_second = along_second + derivative[j * count + m] * places_[m * count + i];
      }
      out[j * count + i] = cross(along_first, along_second);
    }
}

std::array<size_t, 8> Element::corners(size_t i, size_t j, size_t k) const {
  std::array<size_t, 8> out{};
  for (size_t c = 0; c < 8; ++c)
    out[c] = i + (c & 1) + n() * (j + (c >> 1 & 1) + n() * (k + (c >> 2)));
  return out;
}

SpectralField Elements::want(const FieldComponent& what) {
  if (std::string(what.description.coordinates).empty())
    throw Error(ErrorCode::Configuration, "field '" + what.field + "' cannot be drawn: its mesh '" +
                                              what.mesh +
                                              "' has no `coordinates` in the catalogue");
  if (basis_.empty()) {
    axes_ = what.description.axes;
    basis_.emplace_back(what.description.order);
    coordinates_ = sources_.want(what.mesh, Arrangement::as_shared, what.description.coordinates);
  }
  return {what, sources_.want(what.mesh, Arrangement::as_shared, what.field)};
}

void Elements::for_each(const stage::Step& step,
                        const std::function<void(const Element&)>& use) const {
  const int32_t input = sources_.input(coordinates_);
  for (int32_t b = 0; b < step.block_count(input); ++b) {
    const auto block = step.block(input, b);
    for (int64_t e = 0; e < block.count(); ++e)
      use(Element(block, e, coordinates_, basis_.front(), axes_));
  }
}

void Elements::measure(const stage::Step& step, const SpectralField& field,
                       Extremes& extremes) const {
  std::vector<double> values;
  for_each(step, [&](const Element& element) {
    element.read(field, values);
    for (const double value : values) extremes.add(value);
  });
}

void Elements::enclose(const stage::Step& step, Box& box) const {
  for_each(step, [&](const Element& element) {
    for (const Vec& place : element.places())
      for (int d = 0; d < 3; ++d) {
        box.lo[d] = std::min(box.lo[d], place[d]);
        box.hi[d] = std::max(box.hi[d], place[d]);
      }
  });
}

Box Elements::box(const stage::Step& step) const {
  Box own;
  enclose(step, own);
  return own.of_all(step);
}

}  // namespace pillion::stages::image

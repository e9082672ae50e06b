// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of a layer's colours: the numbers that are shown, the map, and its
// limits, which may follow from the numbers of each step.
#pragma once

#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <set>
#include <string>
#include <vector>

#include "colour.hpp"

namespace pillion::stages::image {

/// One component of a field, or the magnitude.
struct FieldComponent {
  std::string field, mesh, units;
  pillion_field_description description{};
  int32_t component = 0;
  [[nodiscard]] std::string name() const;
};

/// Smallest and largest of some numbers; of none at first.
struct Extremes {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double least_positive = std::numeric_limits<double>::infinity();
  void add(double value);
};

struct Colouring {
  std::optional<FieldComponent> by;  ///< nothing: one colour
  std::vector<Colour> colours;
  std::optional<Range> limits;
  bool logarithmic = false;
  std::string label;

  [[nodiscard]] bool is_measured() const { return by && !limits; }
  [[nodiscard]] Paint paint(const Extremes& extremes) const;

  /// Keys of a layer's map that are read here.
  static std::set<std::string> keys() { return {"map", "limits", "scale", "label"}; }
  /// Colours by a quantity, as the layer's map says.
  static Colouring by_quantity(const stage::Value& map, const FieldComponent& quantity);
  /// One colour, from the key `colour` or the standard one.
  static Colouring plain(const stage::Value& map, Colour standard);
};

/// The field and component that two keys of a layer's map name. Throws if they are not right.
FieldComponent quantity_of(const stage::Setup& setup, const stage::Value& map,
                           const char* field_key, const char* component_key);

}  // namespace pillion::stages::image

// SPDX-License-Identifier: BSD-3-Clause
// Reading what colours show.
#include "colouring.hpp"

#include <algorithm>
#include <cmath>

#include "../common/elements.hpp"

namespace pillion::stages::image {

namespace {

std::vector<Colour> colours_of(const stage::Value& value) {
  std::vector<Colour> out;
  if (!value) {
    ColourMap::find("viridis", out);
    return out;
  }
  if (value.is_scalar()) {
    if (!ColourMap::find(value.text(), out))
      value.fail("unknown colour map '" + value.text() + "'; known: " + ColourMap::names() +
                 ", or a list of colours such as [white, '#004488']");
    return out;
  }
  for (int64_t i = 0; i < value.size(); ++i) {
    Colour colour = 0;
    if (!value.is_list() || !parse_colour(value[i].text(), colour))
      value.fail("expected colours such as '#ff8800' or orange");
    out.push_back(colour);
  }
  if (out.size() < 2) value.fail("a colour map has at least two colours");
  return out;
}

std::optional<Range> limits_of(const stage::Value& value, bool logarithmic) {
  if (!value || (value.is_scalar() && value.text() == "auto")) return std::nullopt;
  if (!value.is_list() || value.size() != 2)
    value.fail("expected `auto` or two numbers, such as [0, 1]");
  const Range out{value[0].real(), value[1].real(), logarithmic};
  if (!(out.lo < out.hi) || !std::isfinite(out.lo) || !std::isfinite(out.hi))
    value.fail("expected two finite numbers, the smaller one first");
  if (logarithmic && out.lo <= 0) value.fail("limits of a logarithmic scale are above 0");
  return out;
}

}  // namespace

std::string FieldComponent::name() const {
  return field + stages::ending_of(component, description.components);
}

void Extremes::add(double value) {
  if (!std::isfinite(value)) return;
  least = std::min(least, value);
  most = std::max(most, value);
  if (value > 0) least_positive = std::min(least_positive, value);
}

Paint Colouring::paint(const Extremes& extremes) const {
  Range range = limits.value_or(Range{extremes.least, extremes.most, logarithmic});
  if (!limits && logarithmic) range.lo = extremes.least_positive;
  const bool is_good = std::isfinite(range.lo) && std::isfinite(range.hi) && range.lo <= range.hi;
  if (!is_good) range = logarithmic ? Range{1, 10, true} : Range{0, 1, false};
  if (range.logarithmic && range.lo == range.hi) range.logarithmic = false;
  return {ColourMap(colours), range};
}

Colouring Colouring::by_quantity(const stage::Value& map, const FieldComponent& quantity) {
  Colouring out;
  out.by = quantity;
  out.colours = colours_of(map.find("map"));
  if (const auto scale = map.find("scale"))
    out.logarithmic = stages::choice(scale, {"linear", "log"}) == 1;
  out.limits = limits_of(map.find("limits"), out.logarithmic);
  out.label = quantity.name() + (quantity.units.empty() ? "" : " [" + quantity.units + "]");
  if (const auto label = map.find("label")) out.label = label.text();
  return out;
}

Colouring Colouring::plain(const stage::Value& map, Colour standard) {
  Colouring out;
  out.colours = {standard};
  if (const auto value = map.find("colour"))
    if (!parse_colour(value.text(), out.colours[0]))
      value.fail("expected a colour such as '#ff8800' or orange, not '" + value.text() + "'");
  for (const auto& key : keys())
    if (const auto value = map.find(key))
      value.fail("`" + key + "` goes with `colour_by`; here everything has one colour");
  return out;
}

FieldComponent quantity_of(const stage::Setup& setup, const stage::Value& map,
                           const char* field_key, const char* component_key) {
  const auto field = map.find(field_key);
  if (!field) map.fail(std::string("a field is needed: `") + field_key + ": NAME`");
  FieldComponent out;
  out.field = field.text();
  out.description = setup.field(out.field, field);
  out.mesh = out.description.mesh;
  out.units = out.description.units;
  out.component = stages::component_of(map.find(component_key), field, out.description);
  return out;
}

}  // namespace pillion::stages::image

// SPDX-License-Identifier: BSD-3-Clause
// Reading parameters that several stages have: a word out of a few, a field that must have a
// certain shape, species. What is wrong is reported with the place in the file and the parameter.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <pillion/stage.hpp>
#include <set>
#include <string>
#include <vector>

#include "species.hpp"

namespace pillion::stages {

/// The value as one writes it, for messages.
inline std::string written(const stage::Value& value) {
  if (value.is_scalar()) return value.text();
  std::string out;
  for (int64_t i = 0; i < value.size(); ++i)
    out += (i == 0 ? "" : ", ") + (value.is_map() ? value.key(i) + ": " : "") + written(value[i]);
  return value.is_map() ? "{" + out + "}" : "[" + out + "]";
}

/// Which of the words the value is; fails if it is none.
inline int choice(const stage::Value& value, std::initializer_list<const char*> words) {
  const std::string text = value.text();
  std::string list;
  int index = 0;
  for (const char* word : words) {
    if (text == word) return index;
    list += (index++ != 0 ? ", " : "") + std::string(word);
  }
  value.fail("expected one of " + list + ", not '" + text + "'");
}

/// An integer from `least` to `most`. Memory and time that a stage takes for a parameter are the
/// simulation's, so that none is without bounds. These are checked before anything is made of it.
inline int64_t integer_from(const stage::Value& value, int64_t least, int64_t most) {
  const int64_t number = value.integer();
  if (number < least)
    value.fail("expected at least " + std::to_string(least) + ", not " + std::to_string(number));
  if (number > most)
    value.fail("expected " + std::to_string(least) + " to " + std::to_string(most) + ", not " +
               std::to_string(number));
  return number;
}

/// Bounds of integers that several stages have: numbers for which nothing is stored or done, such
/// as ranks or publications, and numbers of bins or rows.
inline constexpr int64_t most_counted = std::numeric_limits<int32_t>::max();
inline constexpr int64_t most_bins = 1'000'000;

/// Bytes of all these fields in one cell, one particle, or one point of an element.
inline double bytes_of(const stage::Setup& setup, const std::vector<std::string>& fields) {
  double bytes = 0;
  for (const auto& name : fields) {
    const auto field = setup.field(name, setup.parameters());
    bytes += static_cast<double>(stage::size_of_element(field.type) * field.components);
  }
  return bytes;
}

/// Fails if a map has a key that is none of these.
inline void only_keys(const stage::Value& map, const std::set<std::string>& known) {
  for (int64_t i = 0; i < map.size(); ++i)
    if (!known.contains(map.key(i))) {
      std::string list;
      for (const auto& key : known) list += (list.empty() ? "" : ", ") + key;
      map[i].fail("unknown key '" + map.key(i) + "'; known: " + list);
    }
}

enum class Numbers { any, real, integer };

/// The field that a parameter names, checked for the number of components (0: any) and the kind of
/// numbers.
inline pillion_field_description field_of(const stage::Setup& setup, const std::string& parameter,
                                          int32_t components, Numbers numbers,
                                          const std::string& hint = {}) {
  const auto value = setup[parameter];
  const auto describe = [&] {
    try {
      return setup.field(value.text(), value);
    } catch (const Error& e) {
      throw Error(e.code(), std::string(e.what()) + " (parameter '" + parameter + "'" +
                                (hint.empty() ? "" : "; " + hint) + ")");
    }
  };
  const auto field = describe();
  const std::string called = "field '" + value.text() + "' (parameter '" + parameter + "') has ";
  if (components != 0 && field.components != components)
    value.fail(called + std::to_string(field.components) + " components; " +
               std::to_string(components) + " are needed");
  const bool is_integer = !stage::is_real(field.type);
  if (numbers == Numbers::integer && !is_integer) value.fail(called + "reals; integers are needed");
  if (numbers == Numbers::real && is_integer) value.fail(called + "integers; reals are needed");
  return field;
}

/// As above for a field of particles.
inline pillion_field_description particle_field(const stage::Setup& setup,
                                                const std::string& parameter, int32_t components,
                                                Numbers numbers, const std::string& hint = {}) {
  const auto field = field_of(setup, parameter, components, numbers, hint);
  if (field.mesh_kind != PILLION_PARTICLES)
    setup[parameter].fail("field '" + std::string(field.name) + "' (parameter '" + parameter +
                          "') is not on a mesh of particles");
  return field;
}

/// Names become parts of column names, so they must be words.
inline void check_species_name(const stage::Value& place, const std::string& name) {
  const bool plain = !name.empty() && name.find_first_of(" ,;\"'\t\n\r\\") == std::string::npos;
  if (!plain) place.fail("'" + name + "' cannot be the name of a species; use one word");
}

/// {NAME: [types], …}
inline Selection species_of(const stage::Value& map) {
  if (!map.is_map() || map.size() == 0)
    map.fail("expected species and their types, such as {O: [2], ion: [3, 4]}");
  if (static_cast<size_t>(map.size()) > Selection::limit)
    map.fail("more than " + std::to_string(Selection::limit) + " species");
  std::vector<Species> species;
  for (int64_t i = 0; i < map.size(); ++i) {
    check_species_name(map, map.key(i));
    species.push_back({map.key(i), map[i].integers()});
    if (species.back().types.empty()) map[i].fail("species '" + map.key(i) + "' has no types");
  }
  return Selection(std::move(species));
}

/// The name of a dataset, from the parameter `name`, or that of the mesh; it becomes a part of
/// paths.
inline std::string dataset_name(const stage::Setup& setup, const std::string& mesh) {
  const auto given = setup["name"];
  const std::string name = given ? given.text() : mesh;
  if (name.empty() || name[0] == '.' || name.find_first_of("/%() \t") != std::string::npos)
    (given ? given : setup["fields"])
        .fail("'" + name +
              "' cannot name a dataset, which becomes a part of paths; give one without "
              "blanks, '/', '%' and parentheses, as in `name: data`");
  return name;
}

}  // namespace pillion::stages

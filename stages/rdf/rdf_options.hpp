// SPDX-License-Identifier: BSD-3-Clause
// Reading the parameters of `rdf` that no other stage has.
#pragma once

#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <set>
#include <string>
#include <vector>

#include "../common/options.hpp"
#include "species_pairs.hpp"

namespace pillion::stages {

inline size_t species_index(const stage::Value& value, const Selection& selection) {
  const auto name = value.text();
  const int index = selection.find(name);
  if (index < 0) {
    std::string list;
    for (const auto& one : selection.species()) list += (list.empty() ? "" : ", ") + one.name;
    value.fail("'" + name + "' is none of the species: " + list);
  }
  return static_cast<size_t>(index);
}

inline std::vector<SpeciesPair> pairs_of(const stage::Value& list, const Selection& selection) {
  if (!list.is_list() || list.size() == 0)
    list.fail("expected a list of pairs of species, such as [[ion, O], [O, O]]");
  std::vector<SpeciesPair> out;
  std::set<std::string> seen;
  for (int64_t i = 0; i < list.size(); ++i) {
    const auto entry = list[i];
    if (!entry.is_list() || entry.size() != 2)
      entry.fail("expected a pair of species, [A, B], not " + written(entry));
    const auto name = entry[0].text() + "_" + entry[1].text();
    if (!seen.insert(name).second) entry.fail("the pair " + name + " is listed twice");
    out.push_back({species_index(entry[0], selection), species_index(entry[1], selection), name});
  }
  return out;
}

inline double cutoff_of(const stage::Value& value) {
  const double cutoff = value.real();
  if (!(cutoff > 0) || !std::isfinite(cutoff))
    value.fail("the cutoff must be above 0, not " + value.text());
  return cutoff;
}

inline int64_t bins_of(const stage::Value& value) {
  const int64_t bins = integer_from(value, 1);
  if (bins > 1'000'000) value.fail("more than a million bins");
  return bins;
}

}  // namespace pillion::stages

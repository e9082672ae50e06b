// SPDX-License-Identifier: BSD-3-Clause
// Names of rules.
#include "model/mapping.hpp"

namespace pillion::model {

const char* name_of(Mapping mapping) {
  switch (mapping) {
    case Mapping::Auto: return "auto";
    case Mapping::Contiguous: return "contiguous";
    case Mapping::Striped: return "striped";
    case Mapping::Numa: return "numa";
    case Mapping::Folded: return "folded";
  }
  return "unknown";
}

const std::vector<Mapping>& all_mappings() {
  static const std::vector<Mapping> all{Mapping::Auto, Mapping::Contiguous, Mapping::Striped,
                                        Mapping::Numa, Mapping::Folded};
  return all;
}

}  // namespace pillion::model

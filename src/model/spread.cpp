// SPDX-License-Identifier: BSD-3-Clause
// Names of rules.
#include "model/spread.hpp"

namespace pillion::model {

const char* name_of(Spread spread) {
  switch (spread) {
    case Spread::Auto: return "auto";
    case Spread::Contiguous: return "contiguous";
    case Spread::Striped: return "striped";
    case Spread::Numa: return "numa";
    case Spread::Folded: return "folded";
  }
  return "unknown";
}

const std::vector<Spread>& all_spreads() {
  static const std::vector<Spread> all{Spread::Auto, Spread::Contiguous, Spread::Striped,
                                       Spread::Numa, Spread::Folded};
  return all;
}

}  // namespace pillion::model

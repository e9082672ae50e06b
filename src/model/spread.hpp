// SPDX-License-Identifier: BSD-3-Clause
// The rules by which sidecars are chosen among ranks.
#pragma once

#include <vector>

namespace pillion::model {

/// Contiguous: the last spots. Striped: every r-th. Numa: dealt to domains of memory. Folded: dealt
/// to columns of the mesh, in the middle of each. Auto: whatever costs least.
enum class Spread { Auto, Contiguous, Striped, Numa, Folded };

const char* name_of(Spread spread);
const std::vector<Spread>& all_spreads();

}  // namespace pillion::model

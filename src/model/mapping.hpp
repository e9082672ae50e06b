// SPDX-License-Identifier: BSD-3-Clause
// The rules by which sidecars are chosen among ranks.
#pragma once

#include <vector>

namespace pillion::model {

/// Contiguous: the last spots. Striped: every r-th. Numa: dealt to domains of memory. Folded: dealt
/// to columns of the mesh, in the middle of each. Auto: whatever costs least.
enum class Mapping { Auto, Contiguous, Striped, Numa, Folded };

const char* name_of(Mapping mapping);
const std::vector<Mapping>& all_mappings();

}  // namespace pillion::model

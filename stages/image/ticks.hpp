// SPDX-License-Identifier: BSD-3-Clause
// Numbers that are marked on a scale.
#pragma once

#include <vector>

#include "colour.hpp"

namespace pillion::image {

/// Round numbers of a range, at most about so many; its ends where there are not two of them.
std::vector<double> ticks(const Range& range, int most);

}  // namespace pillion::image

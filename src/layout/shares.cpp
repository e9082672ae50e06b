// SPDX-License-Identifier: BSD-3-Clause
#include "layout/shares.hpp"

#include <algorithm>

namespace pillion::layout {

std::vector<Share> Shares::take() {
  std::vector<Share> out;
  for (auto& slot : all_)
    out.push_back({slot.rank, std::move(slot.owned.list), std::move(slot.copies.list)});
  std::sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.rank < b.rank; });
  return out;
}

}  // namespace pillion::layout

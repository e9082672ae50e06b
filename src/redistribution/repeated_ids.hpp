// SPDX-License-Identifier: BSD-3-Clause
// Whether ids that must differ do, over all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "comm/communicator.hpp"

namespace pillion::redistribution {

/// An id that two ranks have, or one rank twice.
struct RepeatedId {
  int64_t id = 0;
  int32_t lower = 0, upper = 0;  ///< ranks
};

/// The least such id, the same on every rank; nothing if all ids differ. A rank sends its ids to
/// the ranks that own them. [collective]
std::optional<RepeatedId> find_repeated(const comm::Communicator& ranks,
                                        std::span<const int64_t> ids);

}  // namespace pillion::redistribution

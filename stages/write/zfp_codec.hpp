// SPDX-License-Identifier: BSD-3-Clause
// Blocks as zfp takes them: in the order of their grids, where neighbours along each axis lie side
// by side, rather than by HZ addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pillion/idx/dataset.hpp>
#include <span>
#include <vector>

namespace pillion::stages {

/// A block given in HZ order. Empty if it is to be stored as it is.
std::vector<std::byte> zfp_packed(const idx::Dataset& dataset, const idx::Field& field,
                                  int64_t block, std::span<const std::byte> bytes);

}  // namespace pillion::stages

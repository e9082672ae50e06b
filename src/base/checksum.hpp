// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli), for files that are read back: it detects every change of up to three bits,
// every burst of up to 32, and others but for one in four thousand million. Not against malice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::base {

/// Of `size` bytes. For several pieces, pass the result of the ones before as `before`.
uint32_t crc32c(const void* data, size_t size, uint32_t before = 0);

}  // namespace pillion::base

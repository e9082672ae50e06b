// SPDX-License-Identifier: BSD-3-Clause
// How the stored bytes of a block become samples again.
#pragma once

#include <cstddef>
#include <pillion/idx/dataset.hpp>
#include <span>

namespace pillion::idx {

/// Nothing if blocks of this codec are read here; else why not.
std::string why_not_read(Codec codec);

/// Fills `to` with what is stored of a block. Throws pillion::Error if it does not make up exactly
/// that.
void decode(const Dataset& dataset, const Field& field, int64_t block, Codec codec,
            std::span<const std::byte> stored, std::span<std::byte> to);

}  // namespace pillion::idx

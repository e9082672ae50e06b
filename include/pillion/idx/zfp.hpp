// SPDX-License-Identifier: BSD-3-Clause
// Blocks as zfp streams without headers: the dataset's text on a field, and the extent of a block's
// grid, define their format. (P. Lindstrom, "Fixed-rate compressed floating-point arrays", IEEE
// TVCG 20 (2014); the library's modes are in its documentation.) A build without the library can
// neither write nor read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pillion/idx/dataset.hpp>
#include <span>
#include <vector>

namespace pillion::idx {

/// Whether this build has the library. Where it has not, the others throw pillion::Error.
bool has_zfp();

/// The samples of a block, of one component, in the order of the block's grid: first axis fastest.
/// Empty for a block that is stored as it is: its stream would not be smaller, would not keep the
/// field's tolerance, or would lose numbers that are not finite.
std::vector<std::byte> zfp_encoded(const Dataset& dataset, const Field& field, int64_t block,
                                   std::span<const std::byte> samples);

/// Fills `samples`, a whole block of them in the same order, from such a stream. Throws
/// pillion::Error if its end is missing, if the dataset does not name the compression of the field,
/// and for types and numbers of components that zfp has no streams of.
void zfp_decode(const Dataset& dataset, const Field& field, int64_t block,
                std::span<const std::byte> stream, std::span<std::byte> samples);

}  // namespace pillion::idx

// SPDX-License-Identifier: BSD-3-Clause
// Values on their way into files: a component of a box, gaps between boxes, and putting a box into
// a slab of planes.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage.hpp>

#include "../../common/messages.hpp"
#include "records.hpp"

namespace pillion::stages::write_openpmd {

using Index = std::array<int64_t, 3>;

/// One component of the elements from lo to hi of a block, the first axis fastest.
Bytes component_of(const stage::Block& block, const stage::Array& array, int32_t component,
                   const Index& lo, const Index& hi);

/// Values where no box is: not a number, or 0 of integers.
Bytes nothing(pillion_type type, int64_t count);

/// Sets to `nothing` the values of cells that do not exist.
void leave_out_hidden(const stage::Block& block, pillion_type type, const Index& lo,
                      const Index& hi, Bytes& values);

/// In front of the values of a box on their way.
struct BoxHead {
  Index lo, hi;
};

/// Puts the values of a box into a slab that begins at the plane `first`; returns how many bytes
/// they were.
size_t place(const Part& part, const BoxHead& box, int64_t first, ByteSpan values, size_t size,
             Bytes& slab);

}  // namespace pillion::stages::write_openpmd

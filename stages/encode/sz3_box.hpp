// SPDX-License-Identifier: BSD-3-Clause
// One component of a box of cells, as a stream of SZ3 whose error is within a bound: what is
// compressed is decompressed and looked at. SZ3 is there as a filter of HDF5, a plug-in that the
// library loads when it is asked for.
#pragma once

#include <pillion/stage.hpp>

#include "box_stream.hpp"

namespace pillion::stages::encoding {

/// Fails, at the place of that value in the configuration, if there is no filter, or one of another
/// version, whose numbers mean something else.
void require_sz3(const stage::Value& value);

/// Empty where the values themselves take no more bytes, or the filter is not for such a box.
template <class T>
BoxStream sz3_within(const Box& box, std::span<const T> values, const Limit& limit);

}  // namespace pillion::stages::encoding

// SPDX-License-Identifier: BSD-3-Clause
// Copies of rows of cells.
#include "values.hpp"

#include <cstring>
#include <limits>

#include "../fields.hpp"

namespace pillion::stages::write_openpmd {

Bytes component_of(const stage::Block& block, const stage::Array& array, int32_t component,
                   const Index& lo, const Index& hi) {
  const size_t size = write::bytes_of(array.type);
  const auto count = (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
  Bytes out(static_cast<size_t>(count) * size);
  std::byte* to = out.data();
  array.visit([&](const auto* from) {
    from += component * array.strides[3];
    for (size_t d = 0; d < 3; ++d) from += (lo[d] - block.lo()[d]) * array.strides[d];
    for (int64_t k = 0; k < hi[2] - lo[2]; ++k)
      for (int64_t j = 0; j < hi[1] - lo[1]; ++j) {
        const auto* row = from + j * array.strides[1] + k * array.strides[2];
        for (int64_t i = 0; i < hi[0] - lo[0]; ++i, to += size)
          std::memcpy(to, row + i * array.strides[0], size);
      }
  });
  return out;
}

Bytes nothing(pillion_type type, int64_t count) {
  const size_t size = write::bytes_of(type);
  Bytes out(static_cast<size_t>(count) * size);
  const float single = std::numeric_limits<float>::quiet_NaN();
  const double wide = std::numeric_limits<double>::quiet_NaN();
  for (size_t at = 0; at < out.size(); at += size) {
    if (type == PILLION_FLOAT32) std::memcpy(out.data() + at, &single, size);
    if (type == PILLION_FLOAT64) std::memcpy(out.data() + at, &wide, size);
  }
  return out;
}

void leave_out_hidden(const stage::Block& block, pillion_type type, const Index& lo,
                      const Index& hi, Bytes& values) {
  const auto* flags = block.raw().flags;
  if (flags == nullptr) return;
  const auto none = nothing(type, 1);
  auto to = values.begin();
  for (int64_t k = lo[2]; k < hi[2]; ++k)
    for (int64_t j = lo[1]; j < hi[1]; ++j)
      for (int64_t i = lo[0]; i < hi[0]; ++i, to += static_cast<std::ptrdiff_t>(none.size())) {
        const int64_t at = (i - block.lo()[0]) * flags->strides[0] +
                           (j - block.lo()[1]) * flags->strides[1] +
                           (k - block.lo()[2]) * flags->strides[2];
        if ((static_cast<const uint8_t*>(flags->data)[at] & PILLION_CELL_HIDDEN) != 0)
          std::copy(none.begin(), none.end(), to);
      }
}

size_t place(const Part& part, const BoxHead& box, int64_t first, ByteSpan values, size_t size,
             Bytes& slab) {
  // By axis: what is before the slab, and how many cells it has.
  const size_t axes = part.lo.size();
  Index origin{}, cells{1, 1, 1};
  for (size_t d = 0; d < axes; ++d) {
    origin[d] = d + 1 == axes ? first : part.lo[axes - 1 - d];
    cells[d] = part.extent[axes - 1 - d];
  }
  const size_t row = static_cast<size_t>(box.hi[0] - box.lo[0]) * size;
  size_t at = 0;
  for (int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (int64_t j = box.lo[1]; j < box.hi[1]; ++j, at += row) {
      const int64_t to = (k - origin[2]) * cells[1] + j - origin[1];
      const auto cell = static_cast<size_t>(to * cells[0] + box.lo[0] - origin[0]);
      std::memcpy(slab.data() + cell * size, values.data() + at, row);
    }
  return at;
}

}  // namespace pillion::stages::write_openpmd

// SPDX-License-Identifier: BSD-3-Clause
// Records of a known length are copied inline, long runs at once.
#include "layout/particle_column.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.hpp"

namespace pillion::layout {

const model::Array& array_of(const model::Block& block, const std::string& field) {
  const auto at = block.arrays.find(field);
  if (at == block.arrays.end())
    base::fail(ErrorCode::Sharing, "block {} of particles came without field '{}'", block.number(),
               field);
  return at->second;
}

ParticleColumn::ParticleColumn(const model::Array& array)
    : data_(static_cast<const std::byte*>(array.data)),
      element_(model::size_of(array.type)),
      components_(static_cast<size_t>(array.components)),
      record_(element_ * components_),
      step_(array.strides[0] * static_cast<int64_t>(element_)),
      component_step_(array.strides[3] * static_cast<int64_t>(element_)) {}

/// `size` is an integral constant or, for sizes out of the ordinary, a variable.
template <class Size>
std::byte* ParticleColumn::pack_records(const std::byte* begin, std::span<const Run> runs,
                                        Size size, std::byte* to) const {
  constexpr uint32_t long_run = 8;
  constexpr size_t ahead = 16;
  const bool packed = step_ == static_cast<int64_t>(record_);
  for (size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[r];
    const std::byte* from = begin + run.first * step_;
    __builtin_prefetch(begin + runs[std::min(r + ahead, runs.size() - 1)].first * step_);
    if (packed && run.count >= long_run) {
      std::memcpy(to, from, run.count * size);
      to += run.count * size;
      continue;
    }
    for (uint32_t i = 0; i < run.count; ++i, to += size, from += step_) std::memcpy(to, from, size);
  }
  return to;
}

template <class Size>
std::byte* ParticleColumn::pack_components(const std::byte* begin, std::span<const Run> runs,
                                           Size size, std::byte* to) const {
  for (const Run& run : runs) {
    const std::byte* from = begin + run.first * step_;
    for (uint32_t i = 0; i < run.count; ++i, from += step_)
      for (size_t c = 0; c < components_; ++c, to += size)
        std::memcpy(to, from + static_cast<int64_t>(c) * component_step_, size);
  }
  return to;
}

std::byte* ParticleColumn::pack(int64_t begin, std::span<const Run> runs, std::byte* to) const {
  using std::integral_constant;
  const std::byte* from = data_ + begin * step_;
  if (components_ != 1 && component_step_ != static_cast<int64_t>(element_))
    return element_ == 4 ? pack_components(from, runs, integral_constant<size_t, 4>(), to)
                         : pack_components(from, runs, integral_constant<size_t, 8>(), to);
  switch (record_) {
    case 4: return pack_records(from, runs, integral_constant<size_t, 4>(), to);
    case 8: return pack_records(from, runs, integral_constant<size_t, 8>(), to);
    case 12: return pack_records(from, runs, integral_constant<size_t, 12>(), to);
    case 24: return pack_records(from, runs, integral_constant<size_t, 24>(), to);
    default: return pack_records(from, runs, record_, to);
  }
}

}  // namespace pillion::layout

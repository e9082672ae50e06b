// SPDX-License-Identifier: BSD-3-Clause
// The values of one field of particles where they lie in memory, and their way into a message.
#pragma once

#include <span>

#include "layout/shares.hpp"
#include "model/block.hpp"

namespace pillion::layout {

/// A field of a block; throws if it is not there.
const model::Array& array_of(const model::Block& block, const std::string& field);

/// Values of one block, in bytes.
class ParticleColumn {
 public:
  /// None.
  ParticleColumn() = default;
  explicit ParticleColumn(const model::Array& array);

  /// Bytes of one particle.
  [[nodiscard]] size_t record() const { return record_; }
  /// Appends the values of some runs, counted from particle `begin` on; returns where they end.
  std::byte* pack(int64_t begin, std::span<const Run> runs, std::byte* to) const;

 private:
  template <class Size>
  std::byte* pack_records(const std::byte* from, std::span<const Run> runs, Size size,
                          std::byte* to) const;
  template <class Size>
  std::byte* pack_components(const std::byte* from, std::span<const Run> runs, Size size,
                             std::byte* to) const;

  const std::byte* data_ = nullptr;
  size_t element_ = 0, components_ = 0, record_ = 0;
  int64_t step_ = 0, component_step_ = 0;
};

}  // namespace pillion::layout

// SPDX-License-Identifier: BSD-3-Clause
// How blocks are compressed: as zlib streams, bare LZ4 blocks or zfp streams. A block that would
// not become smaller stays as it is, and its flags mark that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/dataset.hpp>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../../common/messages.hpp"
#include "../fields.hpp"

namespace pillion::stages::write_idx {

class BlockCompression {
 public:
  /// Fails if this build has not got it, or readers would not read it.
  BlockCompression(const stage::Value& value, const write::WrittenFields& fields);

  [[nodiscard]] idx::Codec codec() const { return codec_; }
  /// Of a field, by its number.
  [[nodiscard]] const idx::ZfpLoss& loss(size_t field) const { return losses_[field]; }
  /// Whether a field of the dataset can have several components.
  [[nodiscard]] bool takes_vectors() const { return codec_ != idx::Codec::zfp; }

 private:
  void check_zfp(const stage::Value& value, const write::WrittenFields& fields) const;
  void read_losses(const stage::Value& limits, const write::WrittenFields& fields);
  /// Sets one limit of all fields of reals, or of the fields that a map names.
  template <class Set>
  void read_limit(const stage::Value& limit, const write::WrittenFields& fields, Set&& set);

  idx::Codec codec_ = idx::Codec::raw;
  std::vector<idx::ZfpLoss> losses_;
};

/// What the table of blocks says of one that became smaller.
inline uint32_t flags_of(idx::Codec codec) {
  constexpr uint32_t row_major = 0x10;
  return static_cast<uint32_t>(codec) | (codec == idx::Codec::zfp ? row_major : 0);
}

/// A block given in HZ order, compressed. Empty if the bytes would not become fewer.
[[nodiscard]] Bytes packed(const idx::Dataset& dataset, const idx::Field& field, int64_t block,
                           std::span<const std::byte> bytes);

}  // namespace pillion::stages::write_idx

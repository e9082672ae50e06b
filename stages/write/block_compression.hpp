// SPDX-License-Identifier: BSD-3-Clause
// What the parameter `compression` asks of the format idx: none, zip, lz4, zfp, or
// {zfp: {tolerance: …, precision: …}}, where each is for all fields of reals or {FIELD: …}.
#pragma once

#include <pillion/idx/dataset.hpp>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "fields.hpp"

namespace pillion::stages {

class BlockCompression {
 public:
  /// Fails if this build has not got it, or readers would not read it.
  BlockCompression(const stage::Value& value, const WrittenFields& fields);

  [[nodiscard]] idx::Codec codec() const { return codec_; }
  /// Of a field, by its number.
  [[nodiscard]] const idx::ZfpLoss& loss(size_t field) const { return losses_[field]; }
  /// Whether a field of the dataset can have several components.
  [[nodiscard]] bool takes_vectors() const { return codec_ != idx::Codec::zfp; }

 private:
  void check_zfp(const stage::Value& value, const WrittenFields& fields) const;
  void read_losses(const stage::Value& limits, const WrittenFields& fields);
  /// Sets one limit of all fields of reals, or of those that a map names.
  template <class Set>
  void read_limit(const stage::Value& limit, const WrittenFields& fields, Set&& set);

  idx::Codec codec_ = idx::Codec::raw;
  std::vector<idx::ZfpLoss> losses_;
};

}  // namespace pillion::stages

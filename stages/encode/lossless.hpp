// SPDX-License-Identifier: BSD-3-Clause
// Lossless compression of bytes by a library: whichever the build has found. Bytes that would not
// become fewer are kept.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pillion::stages::encode {

using Bytes = std::vector<std::byte>;

struct LosslessCodec {
  const char* name;
  int least, standard, most;  ///< of levels: how hard it tries
  /// Compresses into `to`, which is long enough; returns how many bytes it took, 0 if it failed.
  size_t (*compress)(std::span<const std::byte> from, std::span<std::byte> to, int level);
  /// The most bytes that `bytes` bytes may become.
  size_t (*room)(size_t bytes);
};

/// What this build knows, the most preferred first.
const std::vector<LosslessCodec>& codecs();
/// Null if there is none of that name.
const LosslessCodec* codec_of(const std::string& name);
std::string codec_names();

/// Empty if it would not become smaller.
Bytes compressed(const LosslessCodec& codec, int level, std::span<const std::byte> bytes);

}  // namespace pillion::stages::encode

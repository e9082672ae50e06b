// SPDX-License-Identifier: BSD-3-Clause
// Bytes as they are, zlib streams, bare LZ4 blocks, and what zfp makes.
#include "decode.hpp"

#ifdef PILLION_IDX_CODECS
#include <lz4.h>
#include <zlib.h>
#endif

#include <algorithm>
#include <pillion/error.hpp>
#include <pillion/idx/zfp.hpp>

namespace pillion::idx {
namespace {

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::File, why); }

void expect_size(size_t found, size_t wanted) {
  if (found != wanted)
    fail("it holds " + std::to_string(found) + " bytes where " + std::to_string(wanted) +
         " were expected");
}

#ifdef PILLION_IDX_CODECS
constexpr bool has_codecs = true;

void from_zip(std::span<const std::byte> stored, std::span<std::byte> to) {
  auto size = static_cast<uLongf>(to.size());
  const int status =
      uncompress(reinterpret_cast<Bytef*>(to.data()), &size,
                 reinterpret_cast<const Bytef*>(stored.data()), static_cast<uLong>(stored.size()));
  if (status == Z_BUF_ERROR)
    fail(
        "it cannot be decompressed: its end is missing, or it is longer "
        "than a block");
  if (status != Z_OK) fail(std::string("it cannot be decompressed: ") + zError(status));
  expect_size(size, to.size());
}

void from_lz4(std::span<const std::byte> stored, std::span<std::byte> to) {
  const int size = LZ4_decompress_safe(
      reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(to.data()),
      static_cast<int>(stored.size()), static_cast<int>(to.size()));
  if (size < 0) fail("it cannot be decompressed: it is not an LZ4 block, or longer than one here");
  expect_size(static_cast<size_t>(size), to.size());
}
#else
constexpr bool has_codecs = false;
void from_zip(std::span<const std::byte>, std::span<std::byte>) {}
void from_lz4(std::span<const std::byte>, std::span<std::byte>) {}
#endif

std::string name_of_other(Codec codec) {
  switch (static_cast<uint32_t>(codec)) {
    case 4: return "jpg";
    case 6: return "png";
    default: return "codec number " + std::to_string(static_cast<uint32_t>(codec));
  }
}

}  // namespace

std::string why_not_read(Codec codec) {
  switch (codec) {
    case Codec::raw: return "";
    case Codec::zip:
    case Codec::lz4:
      return has_codecs ? "" : "it is compressed, and this was built without zlib and LZ4";
    case Codec::zfp:
      return has_zfp() ? "" : "it is compressed with zfp, and this was built without it";
    default:
      return "it is compressed with " + name_of_other(codec) +
             ", which is not read here (raw, zip, lz4 and zfp are)";
  }
}

void decode(const Dataset& dataset, const Field& field, int64_t block, Codec codec,
            std::span<const std::byte> stored, std::span<std::byte> to) {
  if (const auto why = why_not_read(codec); !why.empty()) fail(why);
  if (codec == Codec::zip) return from_zip(stored, to);
  if (codec == Codec::lz4) return from_lz4(stored, to);
  if (codec == Codec::zfp) return zfp_decode(dataset, field, block, stored, to);
  expect_size(stored.size(), to.size());
  std::copy(stored.begin(), stored.end(), to.begin());
}

}  // namespace pillion::idx

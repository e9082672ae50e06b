// SPDX-License-Identifier: BSD-3-Clause
// The libraries' calls, each for a whole buffer.
#include "lossless.hpp"

#include <lz4.h>
#include <lz4hc.h>
#include <zlib.h>
#ifdef PILLION_ZSTD
#include <zstd.h>
#endif
#ifdef PILLION_LZMA
#include <lzma.h>
#endif
#ifdef PILLION_BZIP2
#include <bzlib.h>
#endif

#include <pillion/error.hpp>

namespace pillion::stages::encode {
namespace {

using From = std::span<const std::byte>;
using To = std::span<std::byte>;

#ifdef PILLION_ZSTD
size_t zstd(From from, To to, int level) {
  const size_t size = ZSTD_compress(to.data(), to.size(), from.data(), from.size(), level);
  return ZSTD_isError(size) != 0 ? 0 : size;
}
#endif

#ifdef PILLION_LZMA
// Most bytes say nothing about those after them but how frequent they are.
size_t xz(From from, To to, int level) {
  lzma_options_lzma options;
  if (lzma_lzma_preset(&options, static_cast<uint32_t>(level)) != 0) return 0;
  options.lc = options.lp = options.pb = 0;
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  size_t size = 0;
  const auto done =
      lzma_stream_buffer_encode(const_cast<lzma_filter*>(filters), LZMA_CHECK_CRC32, nullptr,
                                reinterpret_cast<const uint8_t*>(from.data()), from.size(),
                                reinterpret_cast<uint8_t*>(to.data()), &size, to.size());
  return done == LZMA_OK ? size : 0;
}
#endif

#ifdef PILLION_BZIP2
size_t bzip2(From from, To to, int level) {
  auto size = static_cast<unsigned>(to.size());
  // The library reads what it may not change.
  auto* source = const_cast<char*>(reinterpret_cast<const char*>(from.data()));
  const int done = BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(to.data()), &size, source,
                                            static_cast<unsigned>(from.size()), level, 0, 0);
  return done == BZ_OK ? size : 0;
}
#endif

size_t zip(From from, To to, int level) {
  auto size = static_cast<uLongf>(to.size());
  const int done = compress2(reinterpret_cast<Bytef*>(to.data()), &size,
                             reinterpret_cast<const Bytef*>(from.data()), from.size(), level);
  return done == Z_OK ? size : 0;
}

size_t lz4(From from, To to, int level) {
  const int size = LZ4_compress_HC(
      reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
      static_cast<int>(from.size()), static_cast<int>(to.size()), level);
  return size > 0 ? static_cast<size_t>(size) : 0;
}

size_t none(From, To, int) { return 0; }

/// More than any of the libraries asks for.
size_t ample(size_t bytes) { return bytes + bytes / 50 + 4096; }

}  // namespace

const std::vector<LosslessCodec>& codecs() {
  static const std::vector<LosslessCodec> all = {
#ifdef PILLION_ZSTD
      {"zstd", 1, 1, 19, zstd, ample},
#endif
#ifdef PILLION_LZMA
      {"xz", 0, 6, 9, xz, ample},
#endif
#ifdef PILLION_BZIP2
      {"bzip2", 1, 9, 9, bzip2, ample},
#endif
      {"zip", 1, 6, 9, zip, ample},     {"lz4", 1, 9, 12, lz4, ample},
      {"none", 0, 0, 0, none, ample},
  };
  return all;
}

const LosslessCodec* codec_of(const std::string& name) {
  for (const auto& codec : codecs())
    if (name == codec.name) return &codec;
  return nullptr;
}

std::string codec_names() {
  std::string out;
  for (const auto& codec : codecs()) out += (out.empty() ? "" : ", ") + std::string(codec.name);
  return out;
}

Bytes compressed(const LosslessCodec& codec, int level, std::span<const std::byte> bytes) {
  Bytes out(codec.room(bytes.size()));
  const size_t size = codec.compress(bytes, out, level);
  out.resize(size < bytes.size() ? size : 0);
  return out;
}

}  // namespace pillion::stages::encode

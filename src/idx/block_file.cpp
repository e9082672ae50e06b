// SPDX-License-Identifier: BSD-3-Clause
// Positioned reads of heads and blocks. Nothing that a file says of itself is believed before its
// size is known to allow it.
#include "block_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef PILLION_IDX_CODECS
#include <lz4.h>
#include <zlib.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <pillion/error.hpp>
#include <pillion/idx/zfp.hpp>

namespace pillion::idx {
namespace {

constexpr int64_t entry_size = 40;  ///< in the head, which begins with as many bytes

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::File, "cannot read " + path + ": " + why);
}

[[noreturn]] void fail_to_decode(const std::string& why) { throw Error(ErrorCode::File, why); }

void expect_size(size_t found, size_t wanted) {
  if (found != wanted)
    fail_to_decode("it holds " + std::to_string(found) + " bytes where " + std::to_string(wanted) +
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
    fail_to_decode(
        "it cannot be decompressed: its end is missing, or it is longer "
        "than a block");
  if (status != Z_OK) fail_to_decode(std::string("it cannot be decompressed: ") + zError(status));
  expect_size(size, to.size());
}

void from_lz4(std::span<const std::byte> stored, std::span<std::byte> to) {
  const int size = LZ4_decompress_safe(
      reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(to.data()),
      static_cast<int>(stored.size()), static_cast<int>(to.size()));
  if (size < 0)
    fail_to_decode("it cannot be decompressed: it is not an LZ4 block, or longer than one here");
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

/// Nothing if blocks of this codec are read here; else why not.
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

/// Fills `to` with what is stored of a block: bytes as they are, zlib streams, bare LZ4 blocks, and
/// what zfp makes. Throws pillion::Error if it does not make up exactly that.
void decode(const Dataset& dataset, const Field& field, int64_t block, Codec codec,
            std::span<const std::byte> stored, std::span<std::byte> to) {
  if (const auto why = why_not_read(codec); !why.empty()) fail_to_decode(why);
  if (codec == Codec::zip) return from_zip(stored, to);
  if (codec == Codec::lz4) return from_lz4(stored, to);
  if (codec == Codec::zfp) return zfp_decode(dataset, field, block, stored, to);
  expect_size(stored.size(), to.size());
  std::copy(stored.begin(), stored.end(), to.begin());
}

}  // namespace

std::unique_ptr<BlockFile> BlockFile::open(const std::string& path, const Dataset& dataset) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return nullptr;
  if (file < 0) fail_to_read(path, std::strerror(errno));
  struct stat about {};
  const int status = fstat(file, &about);
  std::unique_ptr<BlockFile> out(new BlockFile(path, file, about.st_size, dataset));
  if (status != 0) fail_to_read(path, std::strerror(errno));
  const auto head = head_size(static_cast<int64_t>(dataset.fields.size()), dataset.blocks_per_file);
  if (about.st_size < head)
    fail_to_read(path, "it is cut short: it has " + std::to_string(about.st_size) +
                           " bytes, its head alone " + std::to_string(head));
  return out;
}

BlockFile::~BlockFile() { close(file_); }

std::vector<Entry> BlockFile::entries(size_t field, std::span<const BlockOfLevel> blocks) const {
  const int64_t first = blocks.front().number, last = blocks.back().number;
  // What is in front of the first entry is read in the place of the head's first bytes.
  std::vector<std::byte> head(static_cast<size_t>(entry_size * (last - first + 2)));
  const int64_t at =
      static_cast<int64_t>(field) * dataset_.blocks_per_file + first % dataset_.blocks_per_file;
  read_at(entry_size * at, head.data(), head.size());
  const auto all = entries_of(head);
  std::vector<Entry> out;
  for (const auto& block : blocks) out.push_back(all[static_cast<size_t>(block.number - first)]);
  return out;
}

void BlockFile::expect_readable(const Entry& entry, size_t field, int64_t block) const {
  if (is_absent(entry)) fail(field, block, "is missing");
  expect_there(entry, field, block);
  if (const auto why = why_not_read(entry.codec()); !why.empty())
    fail(field, block, "cannot be read: " + why);
}

void BlockFile::expect_there(const Entry& entry, size_t field, int64_t block) const {
  if (entry.offset < 0 || entry.offset > size_ || entry.size > size_ - entry.offset)
    fail(field, block,
         "is cut short: " + std::to_string(entry.size) + " bytes at " +
             std::to_string(entry.offset) + " end beyond the file, which has " +
             std::to_string(size_));
}

void BlockFile::read(const Entry& entry, size_t field, int64_t block,
                     std::vector<std::byte>& samples) const {
  expect_there(entry, field, block);
  samples.resize(static_cast<size_t>(dataset_.block_samples()) *
                 dataset_.fields[field].sample_size());
  if (entry.codec() == Codec::raw && entry.size == samples.size())
    return read_at(entry.offset, samples.data(), samples.size());
  std::vector<std::byte> stored(entry.size);
  read_at(entry.offset, stored.data(), stored.size());
  try {
    decode(dataset_, dataset_.fields[field], block, entry.codec(), stored, samples);
  } catch (const Error& error) {
    fail(field, block, std::string("cannot be read: ") + error.what());
  }
}

void BlockFile::fail(size_t field, int64_t block, const std::string& why) const {
  fail_to_read(path_, "block " + std::to_string(block) + " of field '" +
                          dataset_.fields[field].name + "' " + why);
}

void BlockFile::read_at(int64_t offset, std::byte* to, size_t size) const {
  while (size > 0) {
    const ssize_t n = pread(file_, to, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_to_read(path_, std::strerror(errno));
    if (n == 0) fail_to_read(path_, "it has become shorter while it was read");
    to += n;
    size -= static_cast<size_t>(n);
    offset += n;
  }
}

}  // namespace pillion::idx

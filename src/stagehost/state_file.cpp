// SPDX-License-Identifier: BSD-3-Clause
// Writing and checking state files.
#include "stagehost/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/checksum.hpp"
#include "base/error.hpp"

namespace pillion::stagehost {

using base::Bytes;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "PILSTATE";
constexpr int64_t head_size = 8 + 8 + 4;
constexpr int64_t largest_record = int64_t{1} << 40;

/// Whether the product of two numbers that are not negative is at most `most`.
bool fits(int64_t a, int64_t b, int64_t most) { return b == 0 || a <= most / b; }

}  // namespace

std::byte* StatePart::add(StateChunk chunk, size_t size) {
  chunk.offset = static_cast<int64_t>(content.size());
  chunk.size = static_cast<int64_t>(size);
  chunks.push_back(std::move(chunk));
  content.resize(content.size() + size);
  return content.data() + chunks.back().offset;
}

void StatePart::seal() {
  for (auto& chunk : chunks)
    chunk.checksum = base::crc32c(content.data() + chunk.offset, static_cast<size_t>(chunk.size));
}

std::string format_state_file(int64_t file, int64_t files, const std::vector<StatePart>& parts) {
  StateIndex index{.file = file, .files = files, .chunks = {}};
  for (const auto& part : parts)
    index.chunks.insert(index.chunks.end(), part.chunks.begin(), part.chunks.end());
  // The length of the index does not depend on the offsets in it.
  const auto length = static_cast<int64_t>(base::to_bytes(index).size());
  int64_t begin = head_size + length;
  size_t next = 0;
  for (const auto& part : parts) {
    for (size_t c = 0; c < part.chunks.size(); ++c) index.chunks[next++].offset += begin;
    begin += static_cast<int64_t>(part.content.size());
  }
  std::string out(magic);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  const auto bytes = base::to_bytes(index);
  uint32_t checksum = base::crc32c(out.data(), out.size());
  checksum = base::crc32c(bytes.data(), bytes.size(), checksum);
  out.reserve(static_cast<size_t>(begin));
  out.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& part : parts)
    out.append(reinterpret_cast<const char*>(part.content.data()), part.content.size());
  return out;
}

fs::path state_file(const fs::path& folder, int64_t number) {
  return folder / fmt::format("{:06}.state", number);
}

StateFile::StateFile(const fs::path& folder, int64_t number) : path_(state_file(folder, number)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0)
    base::fail(ErrorCode::File, "cannot read '{}': {}", path_.string(), std::strerror(errno));
  try {
    read_index(number);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

StateFile::~StateFile() { ::close(file_); }

void StateFile::fail(const std::string& why) const {
  base::fail(ErrorCode::File, "the state file '{}' is damaged: {}; use another checkpoint",
             path_.string(), why);
}

Bytes StateFile::read_bytes(int64_t offset, int64_t size) const {
  Bytes bytes(static_cast<size_t>(size));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::pread(file_, bytes.data() + at, bytes.size() - at,
                              static_cast<off_t>(offset + static_cast<int64_t>(at)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      base::fail(ErrorCode::File, "cannot read '{}': {}", path_.string(), std::strerror(errno));
    if (n == 0) fail(fmt::format("it ends after {} bytes", offset + static_cast<int64_t>(at)));
    at += static_cast<size_t>(n);
  }
  return bytes;
}

void StateFile::read_index(int64_t number) {
  struct stat about {};
  if (::fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) fail("it is not a plain file");
  length_ = about.st_size;
  if (length_ < head_size) fail(fmt::format("it has only {} bytes", length_));
  const auto head = read_bytes(0, head_size);
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0)
    fail("it does not begin as a state of this version");
  int64_t size = 0;
  uint32_t noted = 0;
  std::memcpy(&size, head.data() + 8, sizeof size);
  std::memcpy(&noted, head.data() + 16, sizeof noted);
  if (size < 0 || size > length_ - head_size)
    fail(fmt::format("its index would have {} bytes, and the file has {}", size, length_));
  const auto bytes = read_bytes(head_size, size);
  uint32_t found = base::crc32c(head.data(), 16);
  found = base::crc32c(bytes.data(), bytes.size(), found);
  if (found != noted)
    fail(fmt::format("the checksum of its index is {:08x}, not {:08x}", found, noted));
  try {
    index_ = base::from_bytes<StateIndex>(bytes);
  } catch (const Error&) {
    fail("its index ends too early");
  }
  if (index_.file != number || index_.files <= number)
    fail(fmt::format("it is file {} of {}", index_.file, index_.files));
  check_chunks(head_size + size, length_);
}

/// The chunks must fill the rest of the file, one after the other.
void StateFile::check_chunks(int64_t begin, int64_t end) const {
  for (const auto& chunk : index_.chunks) {
    const int64_t word = sizeof(int64_t);
    if (chunk.offset != begin || chunk.size < 0 || chunk.size > end - begin)
      fail(fmt::format("'{}' does not lie within it", chunk.name));
    const bool is_whole = chunk.record_size >= 0 && chunk.records >= 0 &&
                          chunk.record_size < largest_record &&
                          fits(chunk.records, chunk.record_size + word, chunk.size) &&
                          chunk.records * (chunk.record_size + word) == chunk.size;
    if (!chunk.is_global && !is_whole)
      fail(fmt::format("'{}' has {} bytes for {} records of {} bytes", chunk.name, chunk.size,
                       chunk.records, chunk.record_size));
    begin += chunk.size;
  }
  if (begin != end) fail(fmt::format("it has {} bytes instead of {}", end, begin));
}

Bytes StateFile::read(const StateChunk& chunk) const {
  auto bytes = read_bytes(chunk.offset, chunk.size);
  const uint32_t found = base::crc32c(bytes.data(), bytes.size());
  if (found != chunk.checksum)
    fail(fmt::format("the checksum of '{}' is {:08x}, not {:08x}", chunk.name, found,
                     chunk.checksum));
  return bytes;
}

}  // namespace pillion::stagehost

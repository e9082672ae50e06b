// SPDX-License-Identifier: BSD-3-Clause
// The head is a magic word, a version, a length, and a Python dictionary with three entries.
#include "replay/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <pillion/error.hpp>
#include <regex>

namespace replay {

using pillion::Error;
using pillion::ErrorCode;

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t longest_head = size_t{1} << 16;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::File, fmt::format("'{}' cannot be read as .npy: {}", path, why));
}

/// A little-endian number of `bytes` bytes.
size_t number_at(std::string_view text, size_t bytes) {
  size_t value = 0;
  for (size_t b = 0; b < bytes; ++b)
    value |= static_cast<size_t>(static_cast<unsigned char>(text[b])) << (8 * b);
  return value;
}

/// What an entry of the dictionary matches.
std::string entry(const std::string& head, const std::string& key, const std::string& pattern,
                  const std::string& path) {
  std::smatch found;
  if (!std::regex_search(head, found, std::regex("'" + key + "'\\s*:\\s*" + pattern)))
    fail(path, fmt::format("its head has no '{}' that is understood: {}", key, head));
  return found[1];
}

std::vector<int64_t> read_shape(const std::string& text, const std::string& path) {
  std::vector<int64_t> shape;
  const std::regex digits("\\d+");
  for (std::sregex_iterator at(text.begin(), text.end(), digits), end; at != end; ++at) {
    const std::string word = at->str();
    int64_t extent = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), extent).ec != std::errc())
      fail(path, "its shape is (" + text + ")");
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

void read_npy_type(const std::string& type, Stored& out) {
  out.type = type;
  if (type.size() < 3) return;
  size_t bytes = 0;
  const auto* end = type.data() + type.size();
  if (std::from_chars(type.data() + 2, end, bytes).ptr != end) return;
  out.number = find_number(type[1], bytes);
  const bool little = std::endian::native == std::endian::little;
  out.swapped = (type[0] == '>' && little) || (type[0] == '<' && !little);
}

namespace {

/// Bytes that the file should have.
uint64_t size_told(const Stored& stored) {
  auto size = static_cast<uint64_t>(size_of(*stored.number));
  for (const int64_t extent : stored.shape)
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size))
      fail(stored.path, "its head tells of more values than any file can hold");
  return size + static_cast<uint64_t>(stored.offset);
}

}  // namespace

size_t npy_head_size(std::string_view begin, const std::string& path) {
  if (begin.size() < npy_begin_size || !begin.starts_with(magic))
    fail(path, "it does not begin as such files do");
  const int version = begin[6];
  if (version < 1 || version > 3) fail(path, fmt::format("its version {} is not known", version));
  const size_t length = version == 1 ? 2 : 4;
  const size_t size = 8 + length + number_at(begin.substr(8), length);
  if (size > longest_head) fail(path, fmt::format("its head has {} bytes", size));
  return size;
}

Stored parse_npy_head(std::string_view head, const std::string& path) {
  const size_t size = npy_head_size(head, path);
  if (head.size() < size) fail(path, "it ends within its head");
  const size_t begin = head[6] == 1 ? 10 : 12;
  const std::string text(head.substr(begin, size - begin));
  Stored out{.path = path,
             .dataset = {},
             .number = {},
             .type = {},
             .shape = {},
             .offset = static_cast<int64_t>(size)};
  // Records are written as a list, whatever is in them.
  read_npy_type(entry(text, "descr", "(?:'([^']*)'|\\[)", path), out);
  if (out.type.empty()) out.type = "records";
  out.fortran = entry(text, "fortran_order", "(True|False)", path) == "True";
  out.shape = read_shape(entry(text, "shape", "\\(([^)]*)\\)", path), path);
  return out;
}

Stored look_into_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::File, fmt::format("'{}' cannot be opened", path));
  std::string head(npy_begin_size, '\0');
  const auto read = [&](size_t from) {
    file.read(head.data() + from, static_cast<std::streamsize>(head.size() - from));
    if (!file) fail(path, "it ends within its head");
  };
  read(0);
  head.resize(std::max(npy_begin_size, npy_head_size(head, path)));
  read(npy_begin_size);
  Stored out = parse_npy_head(head, path);
  if (!out.number) return out;
  const auto there = std::filesystem::file_size(path);
  if (there < size_told(out))
    fail(path, fmt::format("it has {} bytes, but its head tells of {}; was it written whole?",
                           there, size_told(out)));
  return out;
}

}  // namespace replay

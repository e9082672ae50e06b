// SPDX-License-Identifier: BSD-3-Clause
// Plain values in and out of byte buffers, for messages and state files. Not portable between
// machines of different byte order; a reader that runs out of bytes throws.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace pillion::base {

using Bytes = std::vector<std::byte>;

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_raw(&value, sizeof value);
  }
  void put(const std::string& text) {
    put(static_cast<int64_t>(text.size()));
    put_raw(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(static_cast<int64_t>(values.size()));
    for (const auto& value : values) put(value);
  }
  void put_raw(const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class ByteReader {
 public:
  ByteReader(const std::byte* data, size_t size) : at_(data), end_(data + size) {}
  explicit ByteReader(const Bytes& bytes) : ByteReader(bytes.data(), bytes.size()) {}

  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, std::string>) {
      const auto size = static_cast<size_t>(get<int64_t>());
      const std::byte* begin = take(size);
      return std::string(reinterpret_cast<const char*>(begin), size);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      T value;
      std::memcpy(&value, take(sizeof value), sizeof value);
      return value;
    }
  }
  template <class T>
  std::vector<T> get_vector() {
    const auto count = static_cast<size_t>(get<int64_t>());
    if (count > static_cast<size_t>(end_ - at_)) fail_short();  // each takes a byte at least
    std::vector<T> values(count);
    for (auto& value : values) value = get<T>();
    return values;
  }
  /// The next `size` bytes, in place.
  const std::byte* take(size_t size) {
    if (size > static_cast<size_t>(end_ - at_)) fail_short();
    const std::byte* begin = at_;
    at_ += size;
    return begin;
  }
  [[nodiscard]] bool done() const { return at_ == end_; }

 private:
  [[noreturn]] void fail_short() const {
    fail(ErrorCode::Internal, "a message of {} bytes ends too early", end_ - at_);
  }

  const std::byte* at_;
  const std::byte* end_;
};

}  // namespace pillion::base

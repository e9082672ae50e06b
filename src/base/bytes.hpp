// SPDX-License-Identifier: BSD-3-Clause
// Values in and out of byte buffers, for messages and state files. A struct lists its members once,
// in a static function `members`, and is written and read by that list:
//
//   struct Move {
//     int64_t step; std::string why;
//     static constexpr auto members() { return std::tuple{&Move::step, &Move::why}; }
//   };
//
// Not portable between machines of different byte order. A reader that runs out of bytes throws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace pillion::base {

using Bytes = std::vector<std::byte>;

template <class T>
concept HasMembers = requires {
  T::members();
};

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

/// Written and read as it lies in memory, also many at once.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !HasMembers<T> && !is_optional<T>;

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (HasMembers<T>) {
      std::apply([&](auto... member) { (put(value.*member), ...); }, T::members());
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      put_raw(&value, sizeof value);
    }
  }
  void put(const std::string& text) {
    put(static_cast<int64_t>(text.size()));
    put_raw(text.data(), text.size());
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    if constexpr (Plain<T>) {
      put(static_cast<int64_t>(values.size()));
      put_raw(values.data(), values.size() * sizeof(T));
    } else {
      put_all(values);
    }
  }
  template <class T>
  void put(const std::set<T>& values) {
    put_all(values);
  }
  template <class K, class V>
  void put(const std::map<K, V>& values) {
    put_all(values);
  }
  void put_raw(const void* data, size_t size) {
    if (size > bytes_.size() - used_) bytes_.resize(std::max(used_ + size, 2 * bytes_.size()));
    if (size > 0) std::memcpy(bytes_.data() + used_, data, size);
    used_ += size;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }
  [[nodiscard]] Bytes take() {
    bytes_.resize(std::exchange(used_, 0));
    return std::exchange(bytes_, {});
  }

 private:
  template <class Values>
  void put_all(const Values& values) {
    put(static_cast<int64_t>(values.size()));
    for (const auto& value : values) put(value);
  }

  Bytes bytes_;  ///< the first `used_` are written
  size_t used_ = 0;
};

class ByteReader {
 public:
  ByteReader(const std::byte* data, size_t size) : at_(data), end_(data + size) {}
  explicit ByteReader(const Bytes& bytes) : ByteReader(bytes.data(), bytes.size()) {}

  template <class T>
  T get() {
    T value{};
    read(value);
    return value;
  }
  template <class T>
  std::vector<T> get_vector() {
    return get<std::vector<T>>();
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
  template <class T>
  void read(T& value) {
    if constexpr (HasMembers<T>) {
      std::apply([&](auto... member) { (read(value.*member), ...); }, T::members());
    } else if constexpr (std::is_same_v<T, bool>) {
      value = get<uint8_t>() != 0;  // other bytes than 0 and 1 make no bool
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      std::memcpy(&value, take(sizeof value), sizeof value);
    }
  }
  void read(std::string& text) {
    const auto size = static_cast<size_t>(get<int64_t>());
    const std::byte* begin = take(size);
    text.assign(reinterpret_cast<const char*>(begin), size);
  }
  template <class T>
  void read(std::optional<T>& value) {
    if (get<uint8_t>() != 0) value = get<T>();
    else value.reset();
  }
  template <class T>
  void read(std::vector<T>& values) {
    const size_t count = get_count();
    if constexpr (Plain<T>) {
      const std::byte* begin = take(count * sizeof(T));
      values.resize(count);
      if (count > 0) std::memcpy(values.data(), begin, count * sizeof(T));
    } else {
      values.clear();
      for (size_t i = 0; i < count; ++i) values.push_back(get<T>());
    }
  }
  template <class T>
  void read(std::set<T>& values) {
    for (size_t n = get_count(); n > 0; --n) values.insert(get<T>());
  }
  template <class K, class V>
  void read(std::map<K, V>& values) {
    for (size_t n = get_count(); n > 0; --n) {
      K key = get<K>();
      values[std::move(key)] = get<V>();
    }
  }
  /// Each value takes a byte at least, so that a false count cannot exhaust memory.
  size_t get_count() {
    const auto count = static_cast<size_t>(get<int64_t>());
    if (count > static_cast<size_t>(end_ - at_)) fail_short();
    return count;
  }
  [[noreturn]] void fail_short() const {
    fail(ErrorCode::Internal, "a message of {} bytes ends too early", end_ - at_);
  }

  const std::byte* at_;
  const std::byte* end_;
};

template <class T>
Bytes to_bytes(const T& value) {
  ByteWriter out;
  out.put(value);
  return out.take();
}
/// Throws if the bytes end too early.
template <class T>
T from_bytes(const Bytes& bytes) {
  return ByteReader(bytes).get<T>();
}

}  // namespace pillion::base

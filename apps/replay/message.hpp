// SPDX-License-Identifier: BSD-3-Clause
// Values as bytes, for messages between ranks of one program.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace replay {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const size_t end = bytes.size();
    bytes.resize(end + sizeof value);
    std::memcpy(bytes.data() + end, &value, sizeof value);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes += text;
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::map<std::string, T>& values) {
    put(values.size());
    for (const auto& [name, value] : values) {
      put(name);
      put(value);
    }
  }
  std::string bytes;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : at_(bytes.data()) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
  }
  void get(std::string& text) {
    text.resize(next<size_t>());
    std::memcpy(text.data(), at_, text.size());
    at_ += text.size();
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(next<size_t>());
    for (T& value : values) get(value);
  }
  template <class T>
  void get(std::map<std::string, T>& values) {
    for (size_t n = next<size_t>(); n > 0; --n) {
      const auto name = next<std::string>();
      get(values[name]);
    }
  }
  template <class T>
  T next() {
    T value{};
    get(value);
    return value;
  }

 private:
  const char* at_;
};

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// What the fuzz targets make of their input. A target is a function that takes bytes, and must
// return for any: libFuzzer calls it (preset `fuzz`), and replay.cpp with the files of a corpus.
// Only pillion::Error may be thrown by what is tested; any other exception ends the program.
//
// Few random bytes are a valid message. So the input of some targets is a list of changes to one
// that the target has made: its own format may change, and the corpus stays good.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pillion/error.hpp>
#include <span>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace pillion::fuzz {

using Input = std::span<const uint8_t>;

/// Takes a number off the front; 0 if there are too few bytes.
template <class T>
T take(Input& input) {
  T value{};
  const size_t size = std::min<size_t>(sizeof value, input.size());
  if (size == sizeof value) std::memcpy(&value, input.data(), size);
  input = input.subspan(size);
  return value;
}

/// The rest of the input as changes to `bytes`: 2 bytes of offset, one of length (of 8 at most),
/// and the new bytes. An offset beyond the end cuts the last bytes off; the length says how many.
inline std::vector<std::byte> changed(std::vector<std::byte> bytes, Input input) {
  while (!input.empty()) {
    const size_t at = take<uint16_t>(input);
    size_t length = take<uint8_t>(input);
    if (at >= bytes.size()) {
      bytes.resize(bytes.size() - std::min(bytes.size(), length));
      continue;
    }
    length = std::min({length % 9, input.size(), bytes.size() - at});
    std::memcpy(bytes.data() + at, input.data(), length);
    input = input.subspan(length);
  }
  return bytes;
}

inline std::string text(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// Calls `what`; a pillion::Error is a good answer to bad input, unless it says that there is a
/// defect in Pillion.
template <class What>
void accept_errors(What&& what) {
  try {
    what();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) throw;
  }
}

/// The same for messages between ranks: a bad one is a defect in Pillion, and may be called that.
template <class What>
void accept_all_errors(What&& what) {
  try {
    what();
  } catch (const Error&) {}
}

}  // namespace pillion::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// What tests of pillion-replay ask of errors.
#pragma once

#include <pillion/error.hpp>
#include <string>

/// What f throws says; "no error" if it throws nothing.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const pillion::Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

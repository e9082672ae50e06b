// SPDX-License-Identifier: BSD-3-Clause
// Reading the YAML about raw blocks, and how that fails.
#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <pillion/error.hpp>
#include <string>

namespace replay {

/// Throws pillion::Error with the file in front.
[[noreturn]] inline void fail_to_read(const std::string& path, const std::string& why) {
  throw pillion::Error(pillion::ErrorCode::File, fmt::format("'{}' cannot be read: {}", path, why));
}

/// What `work` makes of the text of a file. Throws pillion::Error, with the line, if it makes none.
template <class Work>
auto from_yaml(const std::string& path, Work&& work) {
  try {
    return work(YAML::LoadFile(path));
  } catch (const YAML::Exception& e) {
    fail_to_read(path, e.mark.is_null() ? std::string(e.what())
                                        : fmt::format("line {}: {}", e.mark.line + 1, e.msg));
  }
}

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// What lies on disk already, for whoever goes on from there: read once, the same for all.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <pillion/stage.hpp>
#include <string>

namespace pillion::stages {

/// The text of a file as the first peer finds it; empty if there is none. [peers]
inline std::string text_on_disk(const stage::Step& step, const std::filesystem::path& path) {
  std::string text;
  if (step.peer() == 0) {
    std::ifstream in(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto bytes = step.broadcast(std::as_bytes(std::span(text)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace pillion::stages

// SPDX-License-Identifier: BSD-3-Clause
// What lies on disk already, for whoever goes on from there: read once, the same for all.
#pragma once

#include <mpi.h>

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
  auto size = static_cast<int64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, step.communicator());
  text.resize(static_cast<size_t>(size));
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, step.communicator());
  return text;
}

}  // namespace pillion::stages

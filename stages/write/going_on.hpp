// SPDX-License-Identifier: BSD-3-Clause
// Going on with a dataset of an earlier run, or of sidecars that were killed. What the state says
// may be older than what lies on disk, where all steps that are told of are whole.
#pragma once

#include <mpi.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <pillion/idx/dataset.hpp>
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

/// A dataset, if that is what a text is.
inline std::optional<idx::Dataset> dataset_in(const std::string& text) {
  try {
    if (!text.empty()) return idx::Dataset::parse(text, "the dataset on disk");
  } catch (const Error&) {}
  return {};
}

/// Whether samples of one lie where those of the other do, and are stored alike.
inline bool are_alike(const idx::Dataset& a, const idx::Dataset& b) {
  return a.lo == b.lo && a.hi == b.hi && a.axes == b.axes && a.mask == b.mask &&
         a.bits_per_block == b.bits_per_block && a.blocks_per_file == b.blocks_per_file &&
         a.left_out == b.left_out && a.files == b.files && a.times.folder == b.times.folder &&
         idx::Dataset::parse(a.text(), "a").fields == idx::Dataset::parse(b.text(), "b").fields;
}

}  // namespace pillion::stages

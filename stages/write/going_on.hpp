// SPDX-License-Identifier: BSD-3-Clause
// Whether a dataset of an earlier run, or of sidecars that were killed, can be gone on with. What
// the state says may be older than what lies on disk, where all steps that are told of are whole.
#pragma once

#include <optional>
#include <pillion/error.hpp>
#include <pillion/idx/dataset.hpp>
#include <string>

namespace pillion::stages {

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

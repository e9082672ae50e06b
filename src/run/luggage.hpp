// SPDX-License-Identifier: BSD-3-Clause
// What goes along when an analysis changes sides: what its stages remember, as in a checkpoint, so
// that any number of ranks can go on with it; what was lost of it; and which products there are. It
// goes through a folder in the output folder, which those who arrive remove.
#pragma once

#include "run/chains.hpp"

namespace pillion::run {

/// Where an analysis leaves it for its `number`-th move.
std::filesystem::path luggage_of(const Run& run, size_t analysis, int64_t number);

/// Writes it; `missing` are publications that were lost so far. Throws the same error on every
/// rank, and then nothing has changed. [collective over the side]
void pack(Run& run, const stagehost::Chain& chain, size_t analysis,
          const std::filesystem::path& folder, int64_t missing);

/// The stages behind the cut as they go on from there, and what was lost so far. Throws the same
/// error on every rank. [collective over the side]
struct Unpacked {
  std::unique_ptr<stagehost::Chain> chain;
  int64_t missing = 0;
};
Unpacked unpack(Run& run, size_t analysis, const ProducedFields& produced,
                const std::filesystem::path& folder);

/// Whether it was packed whole. [collective over the side]
bool is_packed(const Run& run, const std::filesystem::path& folder);

/// Removes what moves may have left, at the end of a run. By one rank. What a killed run leaves is
/// removed by the next one that takes the output folder.
void remove_luggage(const Run& run) noexcept;

}  // namespace pillion::run

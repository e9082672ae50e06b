// SPDX-License-Identifier: BSD-3-Clause
// The YAML that says where raw blocks of a step are.
#pragma once

#include <pillion/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace replay {

struct RawBlock {
  std::string file;
  std::vector<int64_t> lo, hi;   ///< [z, y, x]; of particles, which they are among all
  std::vector<int64_t> offsets;  ///< in the file, by field
};

/// What is stored at a step, as its index says.
struct RawIndex {
  std::vector<RawBlock> blocks;
  std::optional<pillion_domain> domain;  ///< of particles
};
RawIndex read_raw_index(const std::string& path);

/// The blocks of a step. The index of the step that was asked for last is kept.
class RawBlocks {
 public:
  const std::vector<RawBlock>& of(const std::string& index);

 private:
  std::string index_;
  std::vector<RawBlock> blocks_;
};

}  // namespace replay

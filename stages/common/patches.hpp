// SPDX-License-Identifier: BSD-3-Clause
// The cells of a boundary that belong to some of its patches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "cells.hpp"

namespace pillion::stages {

/// Which cells of one mesh count, by a parameter that lists names of patches; null stands for all.
class PatchChoice {
 public:
  /// Fails at the parameter unless the field has values in cells, of a mesh with these patches.
  PatchChoice(const stage::Value& names, const pillion_field_description& field) {
    if (!names) return;
    const std::string mesh = std::string("mesh '") + field.mesh + "'";
    if (field.patch_count == 0)
      names.fail(mesh + " of field '" + field.name + "' names no patches");
    if (field.centering != PILLION_CELL)
      names.fail("field '" + std::string(field.name) + "' has values at points, and `patches` " +
                 "chooses cells");
    const std::vector<std::string> known(field.patches, field.patches + field.patch_count);
    is_chosen_.assign(known.size(), false);
    for (const auto& name : names.texts()) {
      const auto found = std::find(known.begin(), known.end(), name);
      if (found == known.end()) names.fail(mesh + " has no patch '" + name + "'" + list(known));
      is_chosen_[static_cast<size_t>(found - known.begin())] = true;
    }
  }

  /// The weights of a block's cells; cells of other patches do not count. Good until the next call.
  /// Throws if the program has not shared patches.
  CellWeights among(CellWeights weights, const stage::Block& block) {
    if (is_chosen_.empty()) return weights;
    const int32_t* patches = block.raw().connectivity->patches;
    flags_.assign(static_cast<size_t>(block.count()), 0);
    if (patches == nullptr && !flags_.empty())
      throw Error(ErrorCode::Sharing, "block " + std::to_string(block.number()) +
                                          " was shared without the patches of its cells, and "
                                          "`patches` chooses some");
    for (size_t c = 0; c < flags_.size(); ++c) {
      const auto patch = static_cast<size_t>(patches[c]);
      const bool counts = weights.flags == nullptr || weights.counts(static_cast<int64_t>(c), 0, 0);
      flags_[c] = counts && is_chosen_[patch] ? 0 : PILLION_CELL_HIDDEN;
    }
    array_ = pillion_array{};
    array_.data = flags_.data();
    array_.type = PILLION_UINT8;
    array_.components = 1;
    array_.strides[0] = 1;
    weights.flags = &array_;
    return weights;
  }

 private:
  static std::string list(const std::vector<std::string>& names) {
    std::string out = "; it has";
    for (const auto& name : names) out += (&name == names.data() ? " '" : ", '") + name + "'";
    return out;
  }

  std::vector<bool> is_chosen_;  ///< by the number of the patch; empty if all are
  std::vector<uint8_t> flags_;
  pillion_array array_{};
};

}  // namespace pillion::stages

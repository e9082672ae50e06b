// SPDX-License-Identifier: BSD-3-Clause
// What crosses the cut in a publication: shared fields, and fields that stages in the simulation
// left, as "ANALYSIS/FIELD"; whole or coarsened.
#pragma once

#include "runtime/run.hpp"
#include "runtime/sharing.hpp"
#include "runtime/word.hpp"
#include "transport/announcement.hpp"

namespace pillion::runtime {

/// By analysis: what its stages in the simulation left.
using Left = std::vector<stagehost::Publication>;

class CutData {
 public:
  /// Analyses from number `own` on are those of attached jobs.
  CutData(const Run& run, const Crossing& crossing, const Sharing& sharing, size_t own)
      : run_(run), crossing_(crossing), sharing_(sharing), own_(own) {}

  /// Everything that analyses need, in the publication that `head` describes.
  [[nodiscard]] transport::Meshes of(const transport::Announcement& head,
                                     const std::vector<size_t>& due, const Left& left) const;
  /// The same, coarsened as the header says. What attached jobs need must not spoil what the run's
  /// own analyses need: if it cannot be given, the header says so.
  [[nodiscard]] transport::Meshes gather(transport::Announcement& head,
                                         const std::vector<size_t>& due, const Left& left) const;
  /// Bytes of all arrays.
  [[nodiscard]] static size_t bytes_of(const transport::Meshes& meshes);

 private:
  void add_ids(std::set<std::string>& fields) const;
  [[nodiscard]] transport::Meshes coarsened(transport::Meshes meshes, int32_t level) const;

  const Run& run_;
  const Crossing& crossing_;
  const Sharing& sharing_;
  size_t own_;
};

}  // namespace pillion::runtime

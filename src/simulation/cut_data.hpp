// SPDX-License-Identifier: BSD-3-Clause
// What crosses the cut in a publication: shared fields, and fields that stages in the simulation
// left, as "ANALYSIS/FIELD"; whole or coarsened.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "run/run_spec.hpp"
#include "stagehost/publication.hpp"
#include "transport/publication_header.hpp"

namespace pillion::run {
struct Run;
}

namespace pillion::simulation {

class Sharing;

/// By analysis: what its stages in the simulation left.
using StageOutputs = std::vector<stagehost::Publication>;

class CutData {
 public:
  /// Analyses from number `own` on are those of attached jobs.
  CutData(const run::Run& run, const run::CutFields& cut_fields, const Sharing& sharing, size_t own)
      : run_(run), cut_fields_(cut_fields), sharing_(sharing), own_(own) {}

  /// Everything that analyses need, in the publication that `head` describes.
  [[nodiscard]] transport::Meshes of(const transport::PublicationHeader& head,
                                     const std::vector<size_t>& due,
                                     const StageOutputs& left) const;
  /// The same, coarsened as the header says. What attached jobs need must not spoil what the run's
  /// own analyses need: if it cannot be given, the header has a flag.
  [[nodiscard]] transport::Meshes gather(transport::PublicationHeader& head,
                                         const std::vector<size_t>& due,
                                         const StageOutputs& left) const;
  /// Bytes of all arrays.
  [[nodiscard]] static size_t bytes_of(const transport::Meshes& meshes);

 private:
  void add_ids(std::set<std::string>& fields) const;
  [[nodiscard]] transport::Meshes coarsened(transport::Meshes meshes, int32_t level) const;

  const run::Run& run_;
  const run::CutFields& cut_fields_;
  const Sharing& sharing_;
  size_t own_;
};

}  // namespace pillion::simulation

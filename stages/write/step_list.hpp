// SPDX-License-Identifier: BSD-3-Clause
// The steps that a dataset of files has whole, in order, the same on every peer. They are also
// noted in a file among the dataset's, so that the successor of a killed run or of killed sidecars,
// whose saved state may be older, knows of all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/files.hpp"
#include "fields.hpp"

namespace pillion::stages::write {

struct StoredStep {
  int64_t step = 0;
  double time = 0;
  int64_t coarsening = 1;
  int64_t count = 0;  ///< of cells or particles
};

class StepList {
 public:
  /// `face` is what readers open, `folder` has the dataset's files; both lie in the folder of
  /// products.
  StepList(const WrittenFields& fields, std::string name, std::string face, std::string folder);
  /// The same of a dataset whose fields such a text describes.
  StepList(std::string contents, std::string name, std::string face, std::string folder);

  [[nodiscard]] const std::vector<StoredStep>& steps() const { return steps_; }
  /// Before the first step that is written: what an earlier run left under this name is
  /// removed, unless this one continues it. Then true if the file that readers open may list steps
  /// that will be written again. [peers]
  [[nodiscard]] bool begin(const stage::Step& step);
  /// After a step is whole. [peers]
  void add(const stage::Step& step, const StoredStep& stored);
  /// Whether a file that lists all steps is due, after a step was added.
  [[nodiscard]] bool is_list_due() const { return stages::is_list_due(steps_.size()); }

  void save(stage::State& state) const;
  /// Throws if other fields were saved.
  void restore(stage::State& state);

 private:
  void forget_from(int64_t step);

  std::string name_, face_, folder_;
  std::string contents_;  ///< what fields of what mesh
  std::vector<StoredStep> steps_;
  bool is_resumed_ = false;
};

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

}  // namespace pillion::stages::write

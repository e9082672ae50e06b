// SPDX-License-Identifier: BSD-3-Clause
// The format `raw`: every rank writes what it has to a file of its own, as it lies. It is what
// other formats are measured against.
#pragma once

#include <string>
#include <vector>

#include "dataset_format.hpp"
#include "fields.hpp"
#include "step_list.hpp"

namespace pillion::stages {

class RawFormat final : public DatasetFormat {
 public:
  explicit RawFormat(stage::Setup& setup);

  void write(stage::Step& step) override;
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  [[nodiscard]] bool is_mesh() const { return fields_.mesh().mesh_kind == PILLION_UNIFORM; }
  [[nodiscard]] std::string path_of(int64_t step, const std::string& end) const;
  /// Writes what this peer has; returns the lines that say what is where.
  std::string write_blocks(const stage::Step& step, const std::string& path, int64_t& bytes) const;
  void write_step_index(const stage::Step& step, const std::string& blocks) const;
  void write_index(const stage::Step& step) const;
  void note(const stage::Step& step, double seconds, int64_t bytes);

  WrittenFields fields_;
  std::string name_;
  bool durable_;
  int64_t at_once_;
  int32_t input_ = 0;
  StepList steps_;
  bool has_begun_ = false;
  std::vector<int64_t> written_, bytes_;  ///< steps, and what they took
  std::vector<double> seconds_;
};

}  // namespace pillion::stages

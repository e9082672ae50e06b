// SPDX-License-Identifier: BSD-3-Clause
// A kind of dataset that the stage `write` makes.
#pragma once

#include <pillion/stage.hpp>

namespace pillion::stages {

class DatasetFormat {
 public:
  DatasetFormat() = default;
  DatasetFormat(const DatasetFormat&) = delete;
  DatasetFormat& operator=(const DatasetFormat&) = delete;
  virtual ~DatasetFormat() = default;

  /// Adds a step. [peers]
  virtual void write(stage::Step& step) = 0;
  /// What there is to know for going on with the dataset. [peers]
  virtual void save(stage::State& state) const = 0;
  virtual void restore(stage::State& state) = 0;
};

}  // namespace pillion::stages

// SPDX-License-Identifier: BSD-3-Clause
// Fields that the catalogue says are constant: their values are copied once, to memory that
// sidecars of the node see, and messages point to them there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "run/run_spec.hpp"
#include "simulation/allocations.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

class ConstantFields {
 public:
  ConstantFields(const model::Catalogue& catalogue, Sharing& sharing, Allocations& allocations)
      : catalogue_(catalogue), sharing_(sharing), allocations_(allocations) {}

  /// Before a publication for sidecars in which these analyses are due: copies blocks of their
  /// fields that are new. Blocks for which there is no memory stay where they are, and are copied
  /// with each publication until there is. Returns what to tell people, each thing once: that there
  /// was no memory, and that values have changed.
  [[nodiscard]] std::vector<std::string> prepare(const std::vector<size_t>& due,
                                                 const run::CutFields& cut_fields);
  /// A block of a field is not shared any more.
  void forget(const std::string& field, int32_t block);

 private:
  /// Some values of a block as they were when they were first looked at.
  struct Sample {
    int64_t version = 0;
    uint32_t checksum = 0;
  };
  struct Samples {
    std::map<int32_t, Sample> blocks{};
    int32_t next = 0;  ///< the number of the block to look at, or a lower one
    bool have_changed = false;
  };
  /// Returns why there was no memory.
  std::string copy(const model::Field& field, int32_t block);
  /// Looks at a few values of one block, another one each time; whether they have changed.
  bool has_changed(const std::string& field);

  const model::Catalogue& catalogue_;
  Sharing& sharing_;
  Allocations& allocations_;
  std::map<std::string, Samples> samples_;
  bool was_refused_ = false;  ///< memory for a copy
};

}  // namespace pillion::simulation

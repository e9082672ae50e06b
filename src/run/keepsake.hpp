// SPDX-License-Identifier: BSD-3-Clause
// What sidecars of another job leave for those who come after them: what their stages remember, and
// what they have counted. It lies in the output folder while the run goes on, is written now and
// then, and is whole whenever they die.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "run/chains.hpp"
#include "run/costs.hpp"

namespace pillion::run {

class Keepsake {
 public:
  /// `run` tells runs apart that share an output folder.
  Keepsake(const std::filesystem::path& output, uint64_t run);

  struct Content {
    std::filesystem::path folder;        ///< of what stages remember
    std::vector<CostCounters> accounts;  ///< by analysis
    std::vector<int64_t> over;           ///< publications that were over when it was written
    std::vector<int64_t> before;         ///< publications of earlier runs that stages know of
  };
  /// What was written last; nothing if there is nothing. Throws ErrorCode::File.
  [[nodiscard]] std::optional<Content> read();

  /// Where stages shall write what they remember now.
  [[nodiscard]] std::filesystem::path next_folder() const;
  /// Makes what is in next_folder() what was written last. By one rank.
  void complete(const std::vector<CostCounters>& accounts, const std::vector<int64_t>& over,
                const std::vector<int64_t>& before);
  /// By all other ranks.
  void complete_elsewhere() { second_ = !second_; }
  /// Removes everything. By one rank.
  void remove() const noexcept;

 private:
  [[nodiscard]] std::filesystem::path folder(bool second) const;
  std::filesystem::path place_;
  bool second_ = false;  ///< which of two folders was written last
};

}  // namespace pillion::run

// SPDX-License-Identifier: BSD-3-Clause
// Finding files, and fields in them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "replay/frames.hpp"

namespace replay {

/// The files that the words of the command line mean; of folders, all that can be read, also what
/// the stage `write` leaves in folders of their own. Throws pillion::Error if one is not there, or
/// is of another kind.
std::vector<std::string> find_files(const std::vector<std::string>& words);

/// Looks only into files and at arrays that may hold one of the fields that are used.
class Search {
 public:
  /// `steps` are those that are wanted, from one to another; all if there are none.
  Search(const Names& names, const std::set<std::string>& used,
         const std::vector<std::pair<int64_t, int64_t>>& steps)
      : names_(names), used_(used), steps_(steps) {}

  /// Throws pillion::Error if a file cannot be read.
  void look_into(const std::string& path);
  [[nodiscard]] const std::vector<Found>& found() const { return found_; }
  /// Which steps were passed over.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  void npy(const std::string& path);
  void hdf5(const std::string& path);
  void dataset(const std::vector<StoredStep>& steps);
  [[nodiscard]] bool is_used(const std::string& name) const;
  [[nodiscard]] bool is_wanted(int64_t step) const;

  const Names& names_;
  const std::set<std::string>& used_;
  const std::vector<std::pair<int64_t, int64_t>>& steps_;
  std::vector<Found> found_;
  std::set<int64_t> coarse_;  ///< steps
};

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// Fairness among analyses when publications are skipped for want of room. One that is due often
// takes whatever room there is; so the one that has gone without for longest may have others left
// out shortly before it is due, and the earlier, the more often that was in vain. Every rank keeps
// the same turns, from what all know.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pillion::runtime {

class Turns {
 public:
  /// Publication number `sequence` was made for these analyses, or was left out.
  void served(const std::vector<size_t>& due, int64_t sequence);
  void skipped(const std::vector<size_t>& due);
  /// It was begun, and some rank had no room for it.
  void dropped(const std::vector<size_t>& due);
  /// An analysis wants nothing for now: its condition did not hold, or it was disabled.
  void pass(size_t analysis);

  /// The analysis that has been without a publication for longest and was due since.
  [[nodiscard]] std::optional<size_t> next() const;
  /// Whether a publication for `due` should leave room for next(), which is due in so many steps.
  [[nodiscard]] bool yields(const std::vector<size_t>& due, int64_t steps_until_next) const;

 private:
  struct Turn {
    bool waits = false;
    int64_t served = 0;
    int64_t drops = 0;   ///< since then
    int64_t window = 0;  ///< in how many steps before it is due others yield
  };
  Turn& turn(size_t analysis);
  std::vector<Turn> turns_;
};

}  // namespace pillion::runtime

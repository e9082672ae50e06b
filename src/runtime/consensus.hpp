// SPDX-License-Identifier: BSD-3-Clause
// What simulation ranks agree on without waiting for each other: each says at a publication how it
// stands; the sum of it is read at the next one. The decision itself is a pure function.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "comm/message.hpp"
#include "model/sidecars.hpp"

namespace pillion::runtime {

constexpr int guest_seats = 3;

/// How a rank, or all of them together, stood when they last met.
struct Standing {
  bool full = false;     ///< another publication like the last would not have fitted
  bool tight = false;    ///< nor two, of which one is for the analysis that waits
  bool scant = false;    ///< nor that one
  bool dropped = false;  ///< the last one was dropped for want of room
  bool blocked = false;  ///< nor word of it, nor would waiting have helped
  int32_t level = 0;     ///< the coarsening at which it would have fitted; beyond the most if none
  double pace = 0;       ///< seconds between steps
  std::array<bool, guest_seats> ready{};     ///< a guest wants to be given messages
  std::array<bool, guest_seats> deserted{};  ///< a guest has left or died, as some rank saw it
  std::set<int32_t> disabled{};              ///< analyses that sidecars have disabled
};

struct Decision {
  bool skip = false;
  int32_t level = 0;  ///< of coarsening
};

/// How a publication stands to the analysis that has waited for longest.
enum class Claim { None, Waits, Yields };

/// What to do with the publication that is due now, given how all ranks stood before, and whether
/// it is for the analysis that waits, or should leave room for that.
Decision decide(model::WhenFull policy, const Standing& before, Claim claim = Claim::None);

/// Steps until ranks should look for newcomers again: about twice a second, each step if steps are
/// slow.
int64_t steps_to_next_look(double pace);

class Consensus {
 public:
  Consensus(const comm::Communicator& simulation, size_t analyses);

  /// Says how this rank stands. [collective, does not wait]
  void start(const Standing& mine);
  /// How all ranks stood when they last said so; waits for ranks that have not yet. [collective]
  const Standing& settle();
  /// What settle() returned last.
  [[nodiscard]] const Standing& last() const { return standing_; }
  /// There are more analyses now. Nothing may be under way.
  void extend(size_t analyses);

 private:
  const comm::Communicator& simulation_;
  std::vector<double> values_;
  comm::Request request_;
  Standing standing_;
  bool pending_ = false;
};

}  // namespace pillion::runtime

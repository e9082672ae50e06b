// SPDX-License-Identifier: BSD-3-Clause
// Which call of the program each rank is in. Where ranks meet, they compare this: ranks that call
// differently learn it there, instead of waiting for each other or taking another call's messages
// for their own. Ranks that have found a difference have parted: they do nothing together any more.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "comm/request.hpp"

namespace pillion::comm {

/// In the order in which a sentence names them. Left: the rank has parted from the others.
enum class CallKind : int32_t { None, Ready, Step, Checkpoint, Close, Left };

struct Call {
  CallKind kind = CallKind::None;
  int64_t step = 0;
  double time = 0;
};

/// The function of the program's call.
[[nodiscard]] const char* name_of(CallKind kind);
/// "pillion_step for step 3 at time 0.3".
[[nodiscard]] std::string text_of(const Call& call);

/// Whether two ranks are in the same call. Times may differ by what rounding does.
[[nodiscard]] bool is_same(const Call& one, const Call& other);

/// What ranks bring to a meeting, reduced: bits, and the least and the greatest of their calls.
struct Met {
  struct Caller {
    Call call;
    int32_t rank = 0;
  };
  int64_t marks = 0;
  Caller least, greatest;
};

/// Joins what others bring to what is in `met`. Associative and commutative.
void join(const Met& other, Met& met);

/// Why ranks part that met like this; nothing if all are in the same call.
[[nodiscard]] std::optional<Error> difference(const Met& met);
/// The same where nothing is known but the extremes of each number of their calls.
[[nodiscard]] std::optional<Error> difference(const Call& least, const Call& greatest);

/// The calls of one rank of a communicator. Each rank of it comes to the same meetings in the same
/// order, or they part.
class Calls {
 public:
  Calls() : spare_(4) {}

  /// This rank enters a call.
  void begin(const Call& call) { now_ = call; }
  [[nodiscard]] const Call& now() const { return now_; }

  /// Why the ranks have parted; nothing if they have not.
  [[nodiscard]] const std::optional<Error>& why_parted() const { return why_parted_; }
  /// Throws if they have: called before all that ranks do together, so that no rank waits for one
  /// that will not come.
  void expect_joined() const {
    if (why_parted_) throw *why_parted_;
  }
  /// Notes that they have, and throws.
  [[noreturn]] void part(Error why);

  /// Brings `marks` to a meeting of all ranks, and returns those of all. Throws if ranks are in
  /// different calls. [collective]
  int64_t meet(MPI_Comm comm, int rank, int64_t marks);

  // A meeting for which a rank need not wait: what it brings stays here as long as MPI needs it.

  class Meeting {
   public:
    /// Whether all ranks have come. Throws if they are in different calls.
    [[nodiscard]] bool is_over(Calls& calls);
    [[nodiscard]] int64_t marks() const { return met_.marks; }

   private:
    friend class Calls;
    Met met_;
    Request request_;
  };
  /// Takes memory only while several earlier ones are not over. [collective, does not wait]
  Meeting& start_meeting(MPI_Comm comm, int rank, int64_t marks);
  /// For a rank that has parted: others that come to a meeting find that out. Only the first time.
  void leave(MPI_Comm comm, int rank) noexcept;
  /// Forgets meetings that are over.
  void forget_meetings();

 private:
  Call now_;
  std::optional<Error> why_parted_;
  [[nodiscard]] Meeting& start(const Call& call, MPI_Comm comm, int rank, int64_t marks);
  std::list<Meeting> meetings_, spare_;
  bool has_left_ = false;
};

}  // namespace pillion::comm

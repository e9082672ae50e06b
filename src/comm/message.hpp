// SPDX-License-Identifier: BSD-3-Clause
// Byte messages of any size, above 2 GiB too, and their tags; exchanges that only the senders know
// of; and reductions that continue while the program works.
#pragma once

#include <mpi.h>

#include <exception>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "comm/agreement.hpp"
#include "comm/calls.hpp"
#include "comm/communicator.hpp"
#include "comm/request.hpp"

namespace pillion::comm {

// The MPI tags of the library, each once. A tag with a pair of numbers alternates between them, so
// that a rank that is one exchange ahead is not misread.
namespace tags {

inline constexpr int gathered = 1;
inline constexpr int folded = 3;
inline constexpr int gathered_each = 4;

inline constexpr int publication = 11;  // from the simulation to its sidecars
inline constexpr int finished = 12;
inline constexpr int publication_body = 13;
inline constexpr int sidecar_failure = 14;
inline constexpr int load_report = 15;
inline constexpr int large_publication = 16;  // those for which no receive was posted
inline constexpr int large_publication_body = 17;
inline constexpr int sidecars_summary = 18;   // what they know for the report
inline constexpr int sidecars_finished = 19;  // sidecars of this job have come to their end

inline constexpr int redistribution_plan = 21;  // and 22
inline constexpr int redistribution_values = 23;
inline constexpr int node_meeting = 25;    // and 26
inline constexpr int particle_sizes = 27;  // and 28
inline constexpr int particle_values = 29;
inline constexpr int publication_passed_on = 31;  // and 32, on the sidecars' own communicator
inline constexpr int stage_message_sizes = 33;    // and 34
inline constexpr int stage_messages = 35;
inline constexpr int stage_turn = 36;
inline constexpr int box_meeting = 37;    // and 38
inline constexpr int state_records = 39;  // and 40
inline constexpr int stage_records = 41;  // and 42
inline constexpr int lost_sidecar_job = 43;
inline constexpr int cell_meeting = 44;  // and 45

}  // namespace tags

/// A datatype that stands for `size` bytes, so that one message may exceed 2 GiB.
class ByteType {
 public:
  explicit ByteType(size_t size);
  ByteType(const ByteType&) = delete;
  ByteType& operator=(const ByteType&) = delete;
  ~ByteType();
  [[nodiscard]] MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

/// Below this size plain bytes do, and no datatype need be made.
constexpr size_t most_plain_bytes = size_t{1} << 30;

[[nodiscard]] Request send(const Communicator& comm, const void* data, size_t size, int to,
                           int tag);
/// Receives a message of at most `size` bytes.
[[nodiscard]] Request receive(const Communicator& comm, void* data, size_t size, int from, int tag);

/// A message that has arrived and belongs to the caller that found it.
struct Arrival {
  MPI_Message message = MPI_MESSAGE_NULL;
  int source = -1;
  size_t size = 0;
};
constexpr int any_rank = MPI_ANY_SOURCE;
/// The next message from a rank, or from any, if one has arrived. Not collective, does not wait.
[[nodiscard]] std::optional<Arrival> find_arrival(const Communicator& comm, int from, int tag);
/// Waits for a message from a rank, and receives it. Without memory for it, throws when its sender
/// does not wait any more.
[[nodiscard]] base::Bytes take_next(const Communicator& comm, int from, int tag);
/// Receives it; `data` has room for arrival.size bytes.
void receive(Arrival& arrival, void* data);
/// The same without waiting.
[[nodiscard]] Request start_receiving(Arrival& arrival, void* data);

/// Starts a maximum over all ranks, in place. [collective, but does not wait]
[[nodiscard]] Request start_maximum(const Communicator& comm, double* values, int count);
[[nodiscard]] Request start_maximum(const Communicator& comm, int32_t* values, int count);
/// Starts a sum over all ranks, in place. [collective, but does not wait]
[[nodiscard]] Request start_sum(const Communicator& comm, double* values, int count);

// Messages whose receivers do not expect them: nonblocking consensus, as in T. Hoefler, C. Siebert,
// A. Lumsdaine: Scalable communication protocols for dynamic sparse data exchange, PPoPP 2010.
// Nothing is as long as the number of ranks.

class SparseExchange {
 public:
  using Messages = std::map<int, base::Bytes>;  ///< by rank

  /// `tag` and `tag + 1` must be used for nothing else on the communicator, which must stay.
  SparseExchange(const Communicator& comm, int tag) : comm_(comm), tag_(tag) {}
  /// Sends out[r] to rank r; returns what was sent here. A rank that lacks memory for a message
  /// throws when the exchange is over on all ranks, so no other rank waits for it. [collective]
  Messages operator()(const Messages& out);
  /// The same for messages that `make` returns; it may fail on some ranks only. A failure of any
  /// rank, there or in the exchange, is thrown on every rank. It costs a reduction more.
  /// [collective]
  Messages made_by(Work<Messages> make);

 private:
  /// Without room for a message the failure is noted, and the exchange continues.
  Messages exchange(const Messages& out, std::exception_ptr& failure);

  const Communicator& comm_;
  int tag_;
  bool odd_ = false;  ///< a rank may be one exchange ahead, never two
};

// A reduction over all ranks for which no rank waits: each rank contributes when it comes by, and
// reads the result when it comes by again. By then the others have contributed too, or are about
// to. Where the calls of ranks are compared, each contribution says from which call it comes.

class LaggedReduction {
 public:
  /// `operation` is Max or Sum; only a maximum tells from which calls contributions come. The
  /// ranks' communicator is for lagged reductions alone, for others may be under way. Of several on
  /// one communicator, each is started as often as the others.
  LaggedReduction(const Communicator& ranks, Operation operation)
      : ranks_(ranks), operation_(operation) {}

  // A rank that did not take part would leave the others waiting. So one that lacks memory must be
  // able to: up to what was reserved, nothing here takes any.

  /// Keeps memory for as many values, which is how many join() contributes.
  void reserve(size_t values);
  /// What this rank contributes next: `count` zeros, as many as on every rank, for the caller to
  /// change until start(). The reduction before must be settled: MPI still writes to its values.
  std::span<double> prepare(size_t count);
  /// Contributes it. [collective, does not wait]
  void start();
  /// The result of the reduction that was started last, good until prepare(); nothing if it was
  /// read. Waits for ranks that have not started it yet. Throws if they have contributed from
  /// different calls. [collective]
  std::optional<std::span<const double>> settle();

  /// Contributes nothing but the call that this rank is in, one in which no rank starts a
  /// reduction: ranks that wait for one learn that it will not come. The reduction before need not
  /// be settled. Does nothing while ranks have not joined since the last time. [collective, does
  /// not wait]
  void join();
  /// Whether all ranks have joined, or there was nothing to join. Throws if they have contributed
  /// from different calls. Does not wait.
  [[nodiscard]] bool has_joined();
  /// For a rank that has parted: others that wait for its contribution find that out. Does not
  /// wait.
  void leave() noexcept;

 private:
  using Values = std::vector<double>;
  void start(const Call& call, Values& values, Request& request) const;
  void compare(const Values& values) const;

  const Communicator& ranks_;
  Operation operation_;
  Values values_, calls_;  ///< of start() and of join()
  Request request_, joining_;
  size_t reserved_ = 0;
  bool is_under_way_ = false, is_joining_ = false;
};

}  // namespace pillion::comm

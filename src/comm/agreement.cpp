// SPDX-License-Identifier: BSD-3-Clause
// Agreement on failure.
#include "comm/agreement.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "comm/calls.hpp"

namespace pillion::comm {
namespace {

constexpr int32_t goes_on = 1;
constexpr int32_t ended = 2;
constexpr int32_t failed = 4;
constexpr int32_t lacking = 8;  // the first of most_common
// At the end nothing is lacking, and the bits are free for answers.
constexpr int32_t says_yes = lacking;
constexpr int32_t says_no = 2 * lacking;

thread_local double waited = 0;

// One word crosses, so that all of the time is waiting for the rank that comes last; or a few, if
// the calls of ranks are compared.
int32_t meet(const Communicator& comm, int32_t mark) {
  if (comm.size() == 1) return mark;
  const double begin = base::monotonic_seconds();
  if (auto* calls = comm.calls())
    mark = static_cast<int32_t>(calls->meet(comm.handle(), comm.rank(), mark));
  else
    check(MPI_Allreduce(MPI_IN_PLACE, &mark, 1, MPI_INT32_T, MPI_BOR, comm.handle()),
          "MPI_Allreduce");
  waited += base::monotonic_seconds() - begin;
  return mark;
}

// Made when the library is loaded, for later there may be no memory for it. Copies share it.
const Error no_memory(ErrorCode::Stage, base::out_of_memory);

/// An error for what is none of ours, or that there is no memory for one.
Error foreign(const char* what) {
  try {
    return {ErrorCode::Internal, what};
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

std::optional<Error> caught(Work<void> work) {
  try {
    work();
    return {};
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (const std::exception& e) {
    return foreign(e.what());
  } catch (...) {
    return foreign("an exception that is not a std::exception");
  }
}

/// The failure of the lowest rank that has one, on every rank. Between the first collective and the
/// last nothing takes memory: a rank that has none is here for that very reason.
std::optional<Error> share(const Communicator& comm, const std::optional<Error>& mine) {
  constexpr int32_t no_rank = std::numeric_limits<int32_t>::max();
  const int32_t first = comm.reduced(mine ? comm.rank() : no_rank, Operation::Min);
  if (first == no_rank) return {};
  std::array<int64_t, 2> code_and_size{};
  std::array<char, 4096> text;
  if (comm.rank() == first && mine) {
    const std::string_view what = mine->what();
    code_and_size = {static_cast<int64_t>(mine->code()),
                     static_cast<int64_t>(std::min(what.size(), text.size()))};
    std::copy_n(what.begin(), code_and_size[1], text.begin());
  }
  comm.broadcast(std::as_writable_bytes(std::span(code_and_size)), first);
  const auto size = static_cast<size_t>(code_and_size[1]);
  comm.broadcast(std::as_writable_bytes(std::span(text).first(size)), first);
  return Error(static_cast<ErrorCode>(code_and_size[0]), std::string(text.data(), size));
}

}  // namespace

double seconds_waited() { return waited; }

std::exception_ptr failure_of(Work<void> work) {
  try {
    work();
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

void together(const Communicator& comm, Work<void> work) {
  const auto mine = caught(work);
  // Where calls are compared, ranks meet before they do anything else.
  if (comm.calls() != nullptr && (meet(comm, mine ? failed : goes_on) & failed) == 0) return;
  if (const auto failure = share(comm, mine)) throw *failure;
}

base::Bytes broadcast_made(const Communicator& comm, int root, Work<base::Bytes> make) {
  base::Bytes bytes;
  together(comm, [&] {
    if (comm.rank() == root) bytes = make();
  });
  // No other rank contributes.
  const auto size =
      comm.reduced(comm.rank() == root ? static_cast<int64_t>(bytes.size()) : 0, Operation::Max);
  together(comm, [&] { bytes.resize(static_cast<size_t>(size)); });
  if (size > 0) comm.broadcast(std::span(bytes), root);
  return bytes;
}

void Fence::before_collective() { (void)common_before_collective(0); }

// What some rank lacks is not common.
uint32_t Fence::common_before_collective(uint32_t mine) {
  constexpr uint32_t all = (1u << most_common) - 1;
  const auto mark = goes_on + static_cast<int32_t>(~mine & all) * lacking;
  const int32_t marks = peer_failed_ ? failed : meet(*comm_, mark);
  peer_failed_ = (marks & failed) != 0;
  if (peer_failed_) base::fail(ErrorCode::Stage, "a peer has failed");
  if ((marks & ended) != 0)
    base::fail(ErrorCode::Stage,
               "the ranks of a stage did not make the same calls: some had finished when others "
               "came to a reduction or a table");
  return ~(static_cast<uint32_t>(marks) / lacking) & all;
}

// A rank that sees a failure goes straight to sharing it. A rank that has ended while others work
// keeps meeting them at their fences, where they learn of it, until they end too.
std::optional<Error> Fence::ask(Work<bool> work, bool& answer) {
  peer_failed_ = false;
  const auto failure = caught([&] { answer = work(); });
  if (peer_failed_) return share(*comm_, {});
  int32_t marks = 0;
  do {
    marks = meet(*comm_, failure ? failed : ended | (answer ? says_yes : says_no));
  } while ((marks & failed) == 0 && (marks & goes_on) != 0);
  if ((marks & failed) != 0) return share(*comm_, failure);
  if ((marks & says_yes) == 0 || (marks & says_no) == 0) return {};
  return Error(ErrorCode::Stage,
               "the ranks of a stage did not agree on whether later stages see this publication");
}

std::optional<Error> Fence::fail(const std::exception& cause) {
  const auto* error = dynamic_cast<const Error*>(&cause);
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&cause) != nullptr;
  return run([&] {
    if (error != nullptr) throw *error;
    if (no_memory) throw std::bad_alloc();
    throw Error(ErrorCode::Internal, cause.what());
  });
}

std::optional<Error> Fence::run(Work<void> work) {
  bool answer = false;
  const auto same_answer = [&] {
    work();
    return true;
  };
  return ask(same_answer, answer);
}

}  // namespace pillion::comm

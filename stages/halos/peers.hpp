// SPDX-License-Identifier: BSD-3-Clause
// What the peers of a halo search say to each other. Messages are arrays of 8-byte words. A peer
// that failed must not leave others in a call, so all of them agree before each exchange, and again
// when each has the memory for what it will get.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <pillion/error.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pillion::stages {

using Words = std::vector<int64_t>;

/// Adds values to the end of words; they must consist of whole words.
template <class R>
void pack(Words& words, const std::vector<R>& values) {
  static_assert(sizeof(R) % sizeof(int64_t) == 0 && std::is_trivially_copyable_v<R>);
  const size_t at = words.size(), count = values.size() * (sizeof(R) / sizeof(int64_t));
  words.resize(at + 1 + count);
  words[at] = static_cast<int64_t>(values.size());
  if (count != 0) std::memcpy(words.data() + at + 1, values.data(), count * sizeof(int64_t));
}

/// Takes values that were packed, and moves `at` behind them.
template <class R>
std::vector<R> unpack(const Words& words, size_t& at) {
  std::vector<R> values(static_cast<size_t>(words[at++]));
  const size_t count = values.size() * (sizeof(R) / sizeof(int64_t));
  if (count != 0)
    std::memcpy(static_cast<void*>(values.data()), words.data() + at, count * sizeof(int64_t));
  at += count;
  return values;
}

/// Every peer must make each of the calls, in the same order.
class Peers {
 public:
  /// `agree` is called by all and throws on all if one of them has failed.
  Peers(MPI_Comm comm, std::function<void()> agree) : comm_(comm), agree_(std::move(agree)) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// The same number of words from everybody, in the order of ranks.
  [[nodiscard]] Words all(const Words& mine) const {
    Words out(mine.size() * static_cast<size_t>(size_));
    agree_();
    const auto count = static_cast<int>(mine.size());
    MPI_Allgather(mine.data(), count, MPI_INT64_T, out.data(), count, MPI_INT64_T, comm_);
    return out;
  }

  /// One message to each of some peers and one from each, which are the same; by peer as they are
  /// listed.
  [[nodiscard]] std::vector<Words> swap(const std::vector<int>& with,
                                        const std::vector<Words>& out) const {
    const size_t n = with.size();
    std::vector<MPI_Request> requests(2 * n);
    Words sizes(n), sizes_out(n);
    for (size_t i = 0; i < n; ++i) sizes_out[i] = length(out[i]);
    agree_();
    for (size_t i = 0; i < n; ++i) {
      MPI_Irecv(&sizes[i], 1, MPI_INT64_T, with[i], tag, comm_, &requests[2 * i]);
      MPI_Isend(&sizes_out[i], 1, MPI_INT64_T, with[i], tag, comm_, &requests[2 * i + 1]);
    }
    MPI_Waitall(static_cast<int>(2 * n), requests.data(), MPI_STATUSES_IGNORE);
    std::vector<Words> in(n);
    for (size_t i = 0; i < n; ++i) in[i].resize(static_cast<size_t>(sizes[i]));
    agree_();
    for (size_t i = 0; i < n; ++i) {
      MPI_Irecv(in[i].data(), static_cast<int>(sizes[i]), MPI_INT64_T, with[i], tag, comm_,
                &requests[2 * i]);
      MPI_Isend(out[i].data(), static_cast<int>(sizes_out[i]), MPI_INT64_T, with[i], tag, comm_,
                &requests[2 * i + 1]);
    }
    MPI_Waitall(static_cast<int>(2 * n), requests.data(), MPI_STATUSES_IGNORE);
    return in;
  }

  /// What everybody has, at rank 0, by rank; nothing elsewhere.
  [[nodiscard]] std::vector<Words> gather(const Words& mine) const {
    const bool is_first = rank_ == 0;
    const int count = length(mine);
    std::vector<int> counts(is_first ? static_cast<size_t>(size_) : 0), at = counts;
    agree_();
    MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm_);
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    if (total > INT_MAX) too_much(total);
    std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
    Words all(static_cast<size_t>(total));
    agree_();
    MPI_Gatherv(mine.data(), count, MPI_INT64_T, all.data(), counts.data(), at.data(), MPI_INT64_T,
                0, comm_);
    std::vector<Words> out;
    for (size_t r = 0; r < counts.size(); ++r)
      out.emplace_back(all.begin() + at[r], all.begin() + at[r] + counts[r]);
    return out;
  }

 private:
  static constexpr int tag = 770;
  [[noreturn]] static void too_much(int64_t words) {
    throw Error(ErrorCode::Stage, "halos would have to exchange " + std::to_string(words) +
                                      " words in one message, more than MPI can count; use more "
                                      "ranks or higher thresholds");
  }
  static int length(const Words& words) {
    if (words.size() > INT_MAX) too_much(static_cast<int64_t>(words.size()));
    return static_cast<int>(words.size());
  }

  MPI_Comm comm_;
  std::function<void()> agree_;
  int rank_ = 0, size_ = 1;
};

}  // namespace pillion::stages

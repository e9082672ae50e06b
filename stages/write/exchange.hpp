// SPDX-License-Identifier: BSD-3-Clause
// What writers hand each other: bytes to any of the peers, and what all of them have sent back. A
// peer that failed must not leave others in a call, so all agree before each.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pillion::stages {

using Bytes = std::vector<std::byte>;

class Exchange {
 public:
  /// `agree` is called by every peer and throws on all of them if one has failed.
  Exchange(MPI_Comm comm, std::function<void()> agree) : comm_(comm), agree_(std::move(agree)) {
    int size = 1;
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size);
    size_ = static_cast<size_t>(size);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] size_t size() const { return size_; }

  /// Sends out[p] to peer p; returns what came, by peer. Most messages may be empty. [peers]
  [[nodiscard]] std::vector<Bytes> operator()(const std::vector<Bytes>& out) const {
    std::vector<int64_t> sizes_out, sizes_in(size_);
    for (const auto& bytes : out) sizes_out.push_back(static_cast<int64_t>(bytes.size()));
    agree_();
    MPI_Alltoall(sizes_out.data(), 1, MPI_INT64_T, sizes_in.data(), 1, MPI_INT64_T, comm_);
    std::vector<Bytes> in(size_);
    for (size_t p = 0; p < size_; ++p) in[p].resize(static_cast<size_t>(sizes_in[p]));
    swap(out, in);
    return in;
  }
  /// The same where everybody knows what comes: in[p] is as long as what peer p sends. [peers]
  void swap(const std::vector<Bytes>& out, std::vector<Bytes>& in) const {
    agree_();
    std::vector<MPI_Request> requests;
    for (size_t step = 0; step < size_; ++step) {
      const size_t from = (static_cast<size_t>(rank_) + size_ - step) % size_;
      start(in[from], requests, [&](std::byte* data, int count, MPI_Request* request) {
        MPI_Irecv(data, count, MPI_BYTE, static_cast<int>(from), tag, comm_, request);
      });
    }
    for (size_t step = 0; step < size_; ++step) {
      const size_t to = (static_cast<size_t>(rank_) + step) % size_;
      start(out[to], requests, [&](const std::byte* data, int count, MPI_Request* request) {
        MPI_Isend(data, count, MPI_BYTE, static_cast<int>(to), tag, comm_, request);
      });
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

 private:
  static constexpr int tag = 771;
  static constexpr size_t longest = size_t{1} << 30;  ///< of one message, in bytes

  template <class B, class Deed>
  static void start(B& bytes, std::vector<MPI_Request>& requests, Deed&& deed) {
    for (size_t at = 0; at < bytes.size(); at += longest)
      deed(bytes.data() + at, static_cast<int>(std::min(longest, bytes.size() - at)),
           &requests.emplace_back());
  }

  MPI_Comm comm_;
  std::function<void()> agree_;
  int rank_ = 0;
  size_t size_ = 1;
};

}  // namespace pillion::stages

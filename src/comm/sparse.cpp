// SPDX-License-Identifier: BSD-3-Clause
// Synchronous sends: when all of mine have been taken, I come to a barrier that does not block;
// when everyone is there, nothing is under way any more.
#include "comm/sparse.hpp"

#include "comm/message.hpp"

namespace pillion::comm {
namespace {

MPI_Request send_synchronously(const Communicator& comm, const base::Bytes& bytes, int to,
                               int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const ByteType type(bytes.size());
  check(MPI_Issend(bytes.data(), 1, type.handle(), to, tag, comm.handle(), &request), "MPI_Issend");
  return request;
}

/// Takes a message that has come, if any has.
bool take_one(const Communicator& comm, int tag, std::map<int, base::Bytes>& in) {
  auto arrival = find_arrival(comm, MPI_ANY_SOURCE, tag);
  if (!arrival) return false;
  auto& bytes = in[arrival->source];
  bytes.resize(arrival->size);
  receive(*arrival, bytes.data());
  return true;
}

}  // namespace

std::map<int, base::Bytes> SparseExchange::operator()(const std::map<int, base::Bytes>& out) {
  const int tag = tag_ + (odd_ ? 1 : 0);
  odd_ = !odd_;
  std::vector<MPI_Request> sent;
  for (const auto& [rank, bytes] : out) sent.push_back(send_synchronously(comm_, bytes, rank, tag));
  std::map<int, base::Bytes> in;
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool at_barrier = false;
  for (int over = 0; over == 0;) {
    while (take_one(comm_, tag, in)) continue;
    if (at_barrier) {
      check(MPI_Test(&barrier, &over, MPI_STATUS_IGNORE), "MPI_Test");
      continue;
    }
    int all = 0;
    check(MPI_Testall(static_cast<int>(sent.size()), sent.data(), &all, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (all == 0) continue;
    check(MPI_Ibarrier(comm_.handle(), &barrier), "MPI_Ibarrier");
    at_barrier = true;
  }
  return in;
}

}  // namespace pillion::comm

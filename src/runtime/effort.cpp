// SPDX-License-Identifier: BSD-3-Clause
// Efforts as messages.
#include "runtime/effort.hpp"

#include "base/bytes.hpp"
#include "comm/message.hpp"

namespace pillion::runtime {
namespace {

constexpr int tag = 15;

}  // namespace

void tell_effort(const Run& run, double busy) {
  if (run.side.rank() != 0) return;
  base::ByteWriter out;
  out.put(busy);
  for (const auto& account : run.accounts) {
    out.put(account.sidecar_seconds);
    out.put(static_cast<double>(account.publications));
  }
  const auto bytes = out.take();
  comm::send(run.world, bytes.data(), bytes.size(), run.ranks_of(Role::Simulation).front(), tag)
      .wait();
}

void hear_effort(const Run& run, Effort& effort) {
  while (auto arrival = comm::find_arrival(run.world, comm::any_rank, tag)) {
    base::Bytes bytes(arrival->size);
    comm::receive(*arrival, bytes.data());
    base::ByteReader in(bytes);
    effort = {.busy = in.get<double>(), .worked = {}, .finished = {}};
    while (!in.done()) {
      effort.worked.push_back(in.get<double>());
      effort.finished.push_back(in.get<double>());
    }
  }
}

}  // namespace pillion::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Each id has an owner among the ranks, who sees all that have it.
#include "redistribution/repeated_ids.hpp"

#include <array>
#include <limits>
#include <unordered_map>

#include "base/bytes.hpp"
#include "comm/agreement.hpp"
#include "comm/message.hpp"
#include "layout/assignment.hpp"

namespace pillion::redistribution {

namespace {

constexpr auto none = std::numeric_limits<int64_t>::max();

RepeatedId least_repeated(const comm::SparseExchange::Messages& ids) {
  RepeatedId out{none, -1, -1};
  std::unordered_map<int64_t, int32_t> seen;
  for (const auto& [rank, bytes] : ids)  // ranks ascend
    for (base::ByteReader in(bytes); !in.done();) {
      const auto id = in.get<int64_t>();
      const auto [at, is_new] = seen.emplace(id, rank);
      if (!is_new && id < out.id) out = {id, at->second, rank};
    }
  return out;
}

}  // namespace

std::optional<RepeatedId> find_repeated(const comm::Communicator& ranks,
                                        std::span<const int64_t> ids) {
  comm::SparseExchange exchange(ranks, comm::tags::cell_meeting);
  // A failure to make messages is thrown on every rank.
  const auto asked = exchange.made_by([&] {
    std::map<int, base::ByteWriter> to;
    for (const int64_t id : ids) to[layout::owner_of(id, ranks.size())].put(id);
    comm::SparseExchange::Messages out;
    for (auto& [rank, bytes] : to) out[rank] = bytes.take();
    return out;
  });
  RepeatedId here;
  comm::together(ranks, [&] { here = least_repeated(asked); });
  const int64_t least = ranks.reduced(here.id, comm::Operation::Min);
  if (least == none) return {};
  std::array<int32_t, 2> pair{-1, -1};
  if (here.id == least) pair = {here.lower, here.upper};
  ranks.reduce(pair.data(), static_cast<int64_t>(pair.size()), comm::Operation::Max);
  return RepeatedId{least, pair[0], pair[1]};
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// Sizes go ahead, since receivers do not know from whom anything comes. So memory is there before
// anything large is under way, and receives are posted before it is sent.
#include "redistribution/particles.hpp"

#include <algorithm>

#include "comm/message.hpp"
#include "comm/tags.hpp"

namespace pillion::redistribution {
namespace {

/// Gives each message its place in a room; begins at a multiple of what a cache line holds.
template <class Messages>
void place(Messages& messages, base::ScratchBuffer& room) {
  constexpr size_t line = 64;
  size_t size = line;
  for (const auto& message : messages) size += (message.size + line - 1) / line * line;
  std::byte* at = room.of(size);
  for (auto& message : messages) {
    message.at = at;
    at += (message.size + line - 1) / line * line;
  }
}

template <class Messages>
size_t bytes_of(const Messages& messages) {
  size_t bytes = 0;
  for (const auto& message : messages) bytes += message.size;
  return bytes;
}

}  // namespace

size_t ParticleExchange::bytes_sent() const { return bytes_of(sent_); }
size_t ParticleExchange::bytes_received() const { return bytes_of(received_); }

void ParticleExchange::plan(const comm::Communicator& ranks, const layout::ParticleMoves& moves) {
  if (!sizes_ || ranks_ != &ranks) sizes_.emplace(ranks, comm::tags::particle_sizes);
  ranks_ = &ranks;
  moves_ = &moves;
  sent_.clear(), received_.clear(), kept_.reset();
  std::map<int, base::Bytes> sizes;
  for (const int rank : moves.ranks()) {
    const Transfer message{rank, moves.size_for(rank)};
    if (rank == ranks.rank()) {
      kept_ = message;
      continue;
    }
    sent_.push_back(message);
    base::ByteWriter writer;
    writer.put(message.size);
    sizes[rank] = writer.take();
  }
  for (const auto& [rank, bytes] : (*sizes_)(sizes))
    received_.push_back({rank, base::ByteReader(bytes).get<size_t>()});
  place(sent_, sending_);
  place(received_, receiving_);
  if (kept_) kept_->at = keeping_.of(kept_->size);
}

std::vector<std::span<const std::byte>> ParticleExchange::received() const {
  std::vector<Transfer> all = received_;
  if (kept_) all.push_back(*kept_);
  std::sort(all.begin(), all.end(),
            [](const Transfer& a, const Transfer& b) { return a.rank < b.rank; });
  std::vector<std::span<const std::byte>> out;
  for (const auto& message : all) out.emplace_back(message.at, message.size);
  return out;
}

model::MeshBlocks ParticleExchange::carry(const layout::Request& request,
                                          const model::Catalogue& catalogue) {
  std::vector<comm::Request> pending;
  for (const auto& message : received_)
    pending.push_back(comm::receive(*ranks_, message.at, message.size, message.rank,
                                    comm::tags::particle_values));
  // Each rank begins with another, so that they do not all send to the same one.
  const auto next = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Transfer& m) { return m.rank > ranks_->rank(); });
  std::rotate(sent_.begin(), next, sent_.end());
  for (const auto& message : sent_) {
    moves_->pack(message.rank, message.at);
    pending.push_back(
        comm::send(*ranks_, message.at, message.size, message.rank, comm::tags::particle_values));
  }
  if (kept_) moves_->pack(kept_->rank, kept_->at);
  for (auto& message : pending) message.wait();
  return layout::unpack(received(), request, catalogue, unpacking_);
}

}  // namespace pillion::redistribution

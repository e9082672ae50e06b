// SPDX-License-Identifier: BSD-3-Clause
// Planning: each rank computes what it sends and tells the receivers. Exchange: receives are
// posted, then everything is packed and sent, then what stays is copied while messages travel.
// Sizes of particles' messages go ahead, since receivers do not know from which ranks anything
// comes; so memory is there before anything large is under way.
#include "redistribution/exchange.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "comm/message.hpp"

namespace pillion::redistribution {

using layout::Box;
using layout::Move;
using layout::Moves;

namespace {

int64_t cells_of(const std::vector<Moves>& all) {
  int64_t cells = 0;
  for (const auto& moves : all) cells += moves.cells;
  return cells;
}

/// Large regions in pieces, so that the receiver can begin before all is there.
std::vector<Moves> in_pieces(std::vector<Moves> all) {
  constexpr int64_t most_cells = 1 << 14;
  for (auto& moves : all) {
    std::vector<Move> pieces;
    for (auto& move : moves.moves) {
      const int axis = move.region.extent(2) > 1 ? 2 : 1;
      const int64_t layer = move.region.volume() / move.region.extent(axis);
      const int64_t step = std::max<int64_t>(most_cells / layer, 1);
      const auto d = static_cast<size_t>(axis);
      for (int64_t lo = move.region.lo[d]; lo < move.region.hi[d]; lo += step) {
        pieces.push_back(move);
        pieces.back().region.lo[d] = lo;
        pieces.back().region.hi[d] = std::min(lo + step, move.region.hi[d]);
      }
    }
    moves.moves = std::move(pieces);
  }
  return all;
}

/// Joins what continues a part of the same box along one axis; whether it does.
bool grow(WantedPart& part, const Move& move) {
  if (part.box != move.to) return false;
  int other = 0;
  size_t axis = 0;
  for (size_t d = 0; d < 3; ++d)
    if (part.region.lo[d] != move.region.lo[d] || part.region.hi[d] != move.region.hi[d]) {
      ++other;
      axis = d;
    }
  if (other != 1 || part.region.hi[axis] != move.region.lo[axis]) return false;
  part.region.hi[axis] = move.region.hi[axis];
  return true;
}

}  // namespace

Redistribution::Redistribution(const comm::Communicator& ranks, std::vector<Box> here,
                               const layout::Wanted& wanted, const std::vector<int>& owners,
                               TransferMemory* memory)
    : ranks_(ranks), here_(std::move(here)) {
  exchange_plan(memory, [&] {
    const auto mine = std::find(owners.begin(), owners.end(), ranks.rank());
    if (mine != owners.end())
      for (const auto& place : wanted.tiling.places_of(static_cast<int>(mine - owners.begin())))
        boxes_.push_back(wanted.grown(place.box));
    auto all = layout::plan_moves(here_, wanted);
    for (auto& moves : all) moves.rank = owners[static_cast<size_t>(moves.rank)];
    // Owners may come in any order, and neighbours must agree on whose turn it is.
    std::sort(all.begin(), all.end(),
              [](const Moves& a, const Moves& b) { return a.rank < b.rank; });
    return all;
  });
}

Redistribution::Redistribution(const comm::Communicator& ranks, std::vector<Box> here,
                               const WantedBoxes& wanted, TransferMemory* memory)
    : ranks_(ranks), here_(std::move(here)) {
  auto all = plan_wanted_boxes(ranks, here_, wanted);
  exchange_plan(memory, [&] {
    boxes_ = wanted.boxes;
    return std::move(all);
  });
}

// Receivers need not know the boxes of the senders, only where things go.
void Redistribution::exchange_plan(TransferMemory* memory, comm::Work<std::vector<Moves>> plan) {
  comm::SparseExchange exchange(ranks_, comm::tags::redistribution_plan);
  const auto layouts = exchange.made_by([&] {
    if (memory == nullptr) own_memory_ = std::make_unique<TransferMemory>();
    memory_ = memory == nullptr ? own_memory_.get() : memory;
    need_ = memory_->add_plan();
    for (auto& moves : plan()) {
      if (moves.rank == ranks_.rank()) kept_ = std::move(moves);
      else sent_.push_back(std::move(moves));
    }
    sent_ = in_pieces(std::move(sent_));
    std::map<int, base::Bytes> out;
    for (const auto& moves : sent_) out[moves.rank] = base::to_bytes(regions_of(moves));
    return out;
  });
  for (const auto& [rank, bytes] : layouts)
    received_.push_back(moves_of(base::from_bytes<RegionLayout>(bytes), rank));
  list_parts();
}

// Pieces that were cut for the way are one part again.
void Redistribution::list_parts() {
  received_parts_ = received_;
  for (auto& moves : received_parts_) {
    const size_t first = parts_.size();
    for (auto& move : moves.moves) {
      if (parts_.size() == first || !grow(parts_.back(), move))
        parts_.push_back({move.to, move.region, -1});
      move.to = static_cast<int32_t>(parts_.size()) - 1;
    }
  }
  for (const auto& move : kept_.moves) parts_.push_back({move.to, move.region, move.from});
}

int64_t Redistribution::cells_sent() const { return cells_of(sent_); }
int64_t Redistribution::cells_received() const { return cells_of(received_); }

std::optional<int> Redistribution::place_of(const Moves& moves) const {
  return path_ != nullptr ? memory_->neighbours().find(moves.rank) : std::optional<int>();
}

size_t Redistribution::bytes_in_messages(const std::vector<Moves>& all, size_t per_cell) const {
  int64_t cells = 0;
  for (const auto& moves : all)
    if (!place_of(moves)) cells += moves.cells;
  return static_cast<size_t>(cells) * per_cell;
}

void Redistribution::list_path_sizes(size_t per_cell) {
  path_sizes_.clear();
  listed_for_ = per_cell;
  if (!memory_->has_neighbours()) return;
  for (const auto& moves : sent_)
    if (const auto place = memory_->neighbours().find(moves.rank))
      path_sizes_[*place] = static_cast<size_t>(moves.cells) * per_cell;
}

// As far as is known before ranks agree on node memory: without it all values go by messages.
void Redistribution::reserve(size_t per_cell) {
  path_ = per_cell <= path_per_cell_ && has_path_ ? memory_->path() : nullptr;
  list_path_sizes(per_cell);
  const size_t most = std::max(received_.size(), received_parts_.size());
  posted_.reserve(most);
  coming_.reserve(most);
  handed_.reserve(most);
  going_.reserve(sent_.size());
  (void)memory_->receiving.of(bytes_in_messages(received_, per_cell));
  (void)memory_->sending.of(bytes_in_messages(sent_, per_cell));
}

// All ranks ask for memory in the same exchanges, since all move the same fields.
void Redistribution::prepare_path(size_t per_cell) {
  if (memory_->has_neighbours() && per_cell > path_per_cell_) {
    if (listed_for_ != per_cell) list_path_sizes(per_cell);
    listed_for_ = 0;
    has_path_ = memory_->reserve(*need_, std::move(path_sizes_));
    path_per_cell_ = per_cell;
  }
  // Memory that was found for this plan may be lost when another asks for more than there is.
  path_ = has_path_ ? memory_->path() : nullptr;
  if (path_ != nullptr) path_->divide_for(need_->plan, need_->sizes);
  need_->received = bytes_in_messages(received_, per_cell);
  need_->sent = bytes_in_messages(sent_, per_cell);
}

void Redistribution::hand_over(int place, const Moves& moves,
                               std::span<const FieldArrays> fields) const {
  constexpr std::ptrdiff_t portion = std::ptrdiff_t{128} << 10;
  std::byte* at = path_->begin_writing(place);
  std::byte* reported = at;
  for (const auto& move : moves.moves) {
    at = pack(move, fields, at);
    if (at - reported < portion) continue;
    path_->wrote(place, static_cast<size_t>(at - reported));
    reported = at;
  }
  path_->wrote(place, static_cast<size_t>(at - reported));
}

bool Redistribution::take(Coming& coming, std::span<const FieldArrays> fields) const {
  const size_t there = path_->unread(coming.place);
  if (there == 0) return false;
  if (coming.at == nullptr) coming.at = path_->begin_reading(coming.place);
  size_t done = 0;
  while (coming.next < coming.moves->moves.size()) {
    const Move& move = coming.moves->moves[coming.next];
    const size_t bytes = static_cast<size_t>(move.region.volume()) * bytes_per_cell(fields);
    if (done + bytes > there) break;
    coming.at = unpack(move, fields, coming.at);
    done += bytes;
    ++coming.next;
  }
  if (done > 0) path_->did_read(coming.place, done);
  return done > 0;
}

void Redistribution::exchange(std::span<const FieldArrays> fields,
                              const std::vector<Moves>& received, const Moves& kept) {
  const size_t per_cell = bytes_per_cell(fields);
  prepare_path(per_cell);
  const auto size_of = [&](const Moves& m) { return static_cast<size_t>(m.cells) * per_cell; };
  posted_.clear(), coming_.clear(), going_.clear(), handed_.clear();
  std::byte* at = memory_->receiving.of(need_->received);
  for (const auto& moves : received) {
    if (const auto place = place_of(moves)) {
      handed_.push_back({*place, &moves, 0, nullptr});
      continue;
    }
    coming_.push_back(
        comm::receive(ranks_, at, size_of(moves), moves.rank, comm::tags::redistribution_values));
    posted_.emplace_back(&moves, at);
    at += size_of(moves);
  }
  // Each rank begins with another, so that they do not all write to the same one.
  at = memory_->sending.of(need_->sent);
  const auto next = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Moves& m) { return m.rank > ranks_.rank(); });
  const auto first = static_cast<size_t>(next - sent_.begin());
  for (size_t n = 0; n < sent_.size(); ++n) {
    const auto& moves = sent_[(first + n) % sent_.size()];
    if (const auto place = place_of(moves)) {
      hand_over(*place, moves, fields);
      continue;
    }
    std::byte* const begin = at;
    for (const auto& move : moves.moves) at = pack(move, fields, at);
    going_.push_back(
        comm::send(ranks_, begin, size_of(moves), moves.rank, comm::tags::redistribution_values));
  }
  copy(kept, fields);
  size_t open = coming_.size();
  // No deadlock: receives are posted, messages are under way, and memory that is handed over has
  // room for a whole exchange. Only what a peer has not read of the exchange before is waited for,
  // in begin_writing, and the rank that is furthest behind waits for nothing. There is no order
  // among arrivals, so both kinds are looked at in turn.
  while (open > 0 || !handed_.empty()) {
    bool progress = false;
    for (auto& from : handed_) progress = take(from, fields) || progress;
    std::erase_if(handed_, [](const Coming& c) { return c.next == c.moves->moves.size(); });
    if (open > 0)
      if (const auto i = comm::find_done(coming_, handed_.empty())) {
        const std::byte* from = posted_[*i].second;
        for (const auto& move : posted_[*i].first->moves) from = unpack(move, fields, from);
        --open;
        progress = true;
      }
    // A peer that shares this core packs meanwhile.
    if (!progress) base::clock().yield();
  }
  // All ranks of the exchange have posted their receives, or will before they wait.
  for (auto& request : going_) request.wait();
  memory_->trim();
}

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

model::MeshBlocks ParticleExchange::exchange(const layout::Request& request,
                                             const model::Catalogue& catalogue) {
  std::vector<comm::Request> pending;
  for (const auto& message : received_)
    pending.push_back(comm::receive(*ranks_, message.at, message.size, message.rank,
                                    comm::tags::particle_values));
  std::vector<std::byte*> to;
  for (auto message = sent_.begin(); const int rank : moves_->ranks())
    to.push_back(rank == ranks_->rank() ? kept_->at : message++->at);
  moves_->pack(to);
  // Each rank begins with another, so that they do not all send to the same one.
  const auto next = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Transfer& m) { return m.rank > ranks_->rank(); });
  std::rotate(sent_.begin(), next, sent_.end());
  for (const auto& message : sent_)
    pending.push_back(
        comm::send(*ranks_, message.at, message.size, message.rank, comm::tags::particle_values));
  // Receives were posted before the sends, on every rank.
  for (auto& message : pending) message.wait();
  return layout::unpack(received(), request, catalogue, unpacking_);
}

}  // namespace pillion::redistribution

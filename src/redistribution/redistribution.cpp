// SPDX-License-Identifier: BSD-3-Clause
// Planning: each rank works out what it sends and tells the receivers. Carrying out: receives are
// posted, then everything is packed and sent, then what stays is copied while messages travel.
#include "redistribution/redistribution.hpp"

#include <algorithm>

#include "comm/sparse.hpp"

namespace pillion::redistribution {

using layout::Box;
using layout::Move;
using layout::Moves;

namespace {

constexpr int plan_tag = 21;  // and the next
constexpr int values_tag = 23;

size_t bytes_per_cell(std::span<const Carried> fields) {
  size_t bytes = 0;
  for (const auto& field : fields) bytes += field.element * static_cast<size_t>(field.components);
  return bytes;
}

/// The parts of a message, one behind the other: for each move all fields.
template <class Deed>
void each_part(const Moves& moves, std::span<const Carried> fields, std::byte* at, Deed&& deed) {
  for (const auto& move : moves.moves)
    for (const auto& field : fields) {
      deed(move, field, at);
      at += field.element * static_cast<size_t>(field.components) *
            static_cast<size_t>(move.region.volume());
    }
}

void pack(const Moves& moves, std::span<const Carried> fields, std::byte* to) {
  each_part(moves, fields, to, [](const Move& move, const Carried& field, std::byte* at) {
    layout::copy_region(layout::packed_at(at, move.region, field.components),
                        field.from[static_cast<size_t>(move.from)], move.region, move.shift,
                        field.components, field.element);
  });
}

void unpack(const Moves& moves, std::span<const Carried> fields, std::byte* from) {
  each_part(moves, fields, from, [](const Move& move, const Carried& field, std::byte* at) {
    layout::copy_region(
        field.to[static_cast<size_t>(move.to)],
        layout::packed_at(static_cast<const std::byte*>(at), move.region, field.components),
        move.region, {0, 0, 0}, field.components, field.element);
  });
}

void copy(const Moves& moves, std::span<const Carried> fields) {
  for (const auto& move : moves.moves)
    for (const auto& field : fields)
      layout::copy_region(field.to[static_cast<size_t>(move.to)],
                          field.from[static_cast<size_t>(move.from)], move.region, move.shift,
                          field.components, field.element);
}

int64_t cells_of(const std::vector<Moves>& all) {
  int64_t cells = 0;
  for (const auto& moves : all) cells += moves.cells;
  return cells;
}

/// Waits for all, and calls deed(i) for each as soon as it is there.
template <class Deed>
void each_arrived(std::vector<comm::Request>& requests, Deed&& deed) {
  for (size_t n = 0; n < requests.size(); ++n) deed(comm::wait_any(requests));
}

}  // namespace

std::byte* Redistribution::Memory::of(size_t size) {
  if (size > capacity_) {
    bytes_.reset(new std::byte[size]);
    capacity_ = size;
  }
  return bytes_.get();
}

Redistribution::Redistribution(const comm::Communicator& ranks, std::vector<Box> here,
                               const layout::Wanted& wanted, const std::vector<int>& owners)
    : ranks_(ranks), here_(std::move(here)) {
  const auto mine = std::find(owners.begin(), owners.end(), ranks.rank());
  if (mine != owners.end())
    for (const auto& place : wanted.tiling.places_of(static_cast<int>(mine - owners.begin())))
      boxes_.push_back(wanted.grown(place.box));
  for (auto& moves : layout::plan_moves(here_, wanted)) {
    moves.rank = owners[static_cast<size_t>(moves.rank)];
    if (moves.rank == ranks.rank()) kept_ = std::move(moves);
    else sent_.push_back(std::move(moves));
  }
  tell(sent_);
}

// Receivers need not know the boxes of the senders, only where things go.
void Redistribution::tell(const std::vector<Moves>& out) {
  std::map<int, base::Bytes> told;
  for (const auto& moves : out) {
    base::ByteWriter writer;
    for (const auto& move : moves.moves) {
      writer.put(move.to);
      writer.put(move.region);
    }
    told[moves.rank] = writer.take();
  }
  comm::SparseExchange exchange(ranks_, plan_tag);
  for (const auto& [rank, bytes] : exchange(told)) {
    auto& moves = received_.emplace_back();
    moves.rank = rank;
    for (base::ByteReader in(bytes); !in.done();) {
      auto& move = moves.moves.emplace_back();
      move.to = in.get<int32_t>();
      move.region = in.get<Box>();
      moves.cells += move.region.volume();
    }
  }
}

int64_t Redistribution::cells_sent() const { return cells_of(sent_); }
int64_t Redistribution::cells_received() const { return cells_of(received_); }

void Redistribution::carry(std::span<const Carried> fields) {
  const size_t per_cell = bytes_per_cell(fields);
  const auto size_of = [&](const Moves& m) { return static_cast<size_t>(m.cells) * per_cell; };
  std::vector<std::byte*> places;
  std::vector<comm::Request> coming, going;
  std::byte* at = receiving_.of(static_cast<size_t>(cells_received()) * per_cell);
  for (const auto& moves : received_) {
    coming.push_back(comm::receive(ranks_, at, size_of(moves), moves.rank, values_tag));
    places.push_back(at);
    at += size_of(moves);
  }
  // Each rank begins with another, so that they do not all write to the same one.
  at = sending_.of(static_cast<size_t>(cells_sent()) * per_cell);
  const auto next = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Moves& m) { return m.rank > ranks_.rank(); });
  const auto first = static_cast<size_t>(next - sent_.begin());
  for (size_t n = 0; n < sent_.size(); ++n) {
    const auto& moves = sent_[(first + n) % sent_.size()];
    pack(moves, fields, at);
    going.push_back(comm::send(ranks_, at, size_of(moves), moves.rank, values_tag));
    at += size_of(moves);
  }
  copy(kept_, fields);
  each_arrived(coming, [&](size_t i) { unpack(received_[i], fields, places[i]); });
  for (auto& request : going) request.wait();
}

}  // namespace pillion::redistribution

// SPDX-License-Identifier: BSD-3-Clause
// Reading messages and agreeing on them.
#include "sidecar/messages.hpp"

#include <algorithm>
#include <limits>

namespace pillion::sidecar {

using transport::PublicationHeader;

Message Messages::read() {
  Message message;
  // The receiver asks only while it waits, which it never does where messages come fast.
  const auto leaves = [&] { return leaving_ != nullptr && leaving_->leaves(); };
  auto deliveries = leaves() ? std::nullopt : receiver_->next();
  if (leaving_ != nullptr && leaving_->is_asked() && receiver_->is_orphaned())
    policy_.on(policy::SimulationDied{});
  if (deliveries) {
    message.deliveries = std::move(*deliveries);
  } else if (leaves()) {
    policy_.on(policy::LeaveRequested{});
  } else if (receiver_->is_evicted()) {
    policy_.on(policy::Evicted{});
  } else {
    policy_.on(policy::SourceEnded{});
  }
  for (const auto& delivery : message.deliveries) {
    auto& header = message.headers[delivery.source];
    header = transport::decode_head(delivery.data, delivery.size);
    // Also of a publication that other ranks dropped, for the sender takes it as received.
    if (header.brings_new)
      transport::keep(transport::decode(delivery.data, delivery.size, delivery.keep, {},
                                        &kept_[delivery.source]),
                      kept_[delivery.source]);
  }
  return message;
}

// Where values come directly to the sidecars that work on them, they must be taken together.
bool Messages::passes(Message& message) const {
  if (message.deliveries.empty() || receiver_->direct() != nullptr) return false;
  for (const auto& [source, header] : message.headers) {
    if (header.kind != transport::MessageKind::Publication) return false;
    message.header = header;
    if (!policy_.passes(header.sequence, analyses_in(header))) return false;
  }
  return true;
}

namespace {

/// What ranks reduce about a message. A mark of each analysis of the job follows: that it is
/// unusable on some rank.
enum Mark {
  no_message,
  leave_requested,
  evicted,
  gone,
  dropped,
  schema_changed,
  scattered,
  lacks_header,  ///< some rank has no source
  from_first,    ///< ranks of the side less the lowest rank that has one
  from_end,      ///< the same of the lowest rank that has one which ends the run
  header_size,   ///< of the largest header
  digest,        ///< the greatest of two digests, and of their complements
  first_analysis = digest + 4
};
using Marks = std::vector<int32_t>;

/// Of all that ranks must agree on in a header, and do as a rule: not of what is of one rank alone.
uint64_t digest_of(PublicationHeader header) {
  header.dropped = header.schema_changed = header.scattered = header.brings_new = false;
  header.published = 0;
  header.summary.clear();
  header.targets.clear();
  header.box_keys.clear();
  if (header.kind == transport::MessageKind::Publication)
    for (auto& due : header.due) due.unusable = 0;
  const auto bytes = base::to_bytes(header);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : bytes)
    hash = (hash ^ static_cast<uint64_t>(byte)) * uint64_t{0x100000001b3};
  return hash;
}

/// Adds a header to what this rank knows. Digests are equal everywhere if the greatest of them is
/// the complement of the greatest complement.
void mark(Marks& marks, const PublicationHeader& header) {
  if (header.schema_changed) marks[Mark::schema_changed] = 1;
  if (header.scattered) marks[Mark::scattered] = 1;
  const uint64_t hash = digest_of(header);
  for (int half = 0; half < 2; ++half) {
    const auto part = static_cast<int32_t>(hash >> (32 * half));
    auto* to = &marks[static_cast<size_t>(Mark::digest + 2 * half)];
    to[0] = std::max(to[0], part);
    to[1] = std::max(to[1], ~part);
  }
}

bool have_same_header(const Marks& marks) {
  return marks[Mark::lacks_header] == 0 && marks[Mark::digest] == ~marks[Mark::digest + 1] &&
         marks[Mark::digest + 2] == ~marks[Mark::digest + 3];
}

}  // namespace

Messages::Messages(const comm::Communicator& side, policy::SidecarPolicy& policy)
    : side_(side), policy_(policy), marks_(Mark::first_analysis + policy.analyses()) {}

// One reduction of fixed size, as a rule: each rank that has a source has the header from there. It
// is sent only if a rank has none, or if they differ, as when a rank has dropped the publication.
// Every rank comes here when it has a message, or knows that none comes. The simulation's ranks
// publish at times of their own, so the first sidecar may be here long before the last.
void Messages::agree(Message& message) {
  for (const auto& [source, header] : message.headers) {
    policy::MessageArrived arrived{.dropped = header.dropped};
    for (const auto& [analysis, due] : due_in(header))
      if (due.unusable != 0) arrived.unusable.insert(analysis);
    policy_.on(arrived);
  }
  reduce(message, policy_.take_status());
  if (leaving_ != nullptr && message.all.gone) leaving_->note_gone();
  if (message.all.no_message) return;
  if (leaving_ != nullptr && message.header.kind == transport::MessageKind::Checkpoint)
    leaving_->note_checkpoint();
  receiver_->begin();
}

void Messages::reduce(Message& message, const policy::MessageStatus& mine) {
  auto& marks = marks_;
  std::fill(marks.begin(), marks.end(), 0);
  std::fill_n(&marks[Mark::digest], 4, std::numeric_limits<int32_t>::min());
  marks[Mark::no_message] = mine.no_message ? 1 : 0;
  marks[Mark::leave_requested] = mine.leave_requested ? 1 : 0;
  marks[Mark::evicted] = mine.evicted ? 1 : 0;
  marks[Mark::gone] = mine.gone ? 1 : 0;
  marks[Mark::dropped] = mine.dropped ? 1 : 0;
  base::Bytes head;
  if (message.deliveries.empty()) {
    marks[Mark::lacks_header] = 1;
  } else {
    // Ranks of the simulation that do not make the same calls do not end with the same message. The
    // first that ends is the end of all.
    const auto end = std::find_if(
        message.deliveries.begin(), message.deliveries.end(), [&](const auto& delivery) {
          return message.headers.at(delivery.source).kind == transport::MessageKind::End;
        });
    const bool ends = end != message.deliveries.end();
    head = transport::head_of(ends ? *end : message.deliveries.front());
    marks[Mark::from_first] = side_.size() - side_.rank();
    if (ends) marks[Mark::from_end] = marks[Mark::from_first];
    marks[Mark::header_size] = static_cast<int32_t>(head.size());
  }
  for (const auto& [source, header] : message.headers) {
    mark(marks, header);
    for (const auto& [analysis, due] : due_in(header))
      if (due.unusable != 0) marks[Mark::first_analysis + analysis] = 1;
  }
  // Every sidecar reduces once for each message, in the order of messages. One that has no message
  // yet does so with an empty one, so others wait for its look at most.
  if (side_.size() > 1)
    comm::start_maximum(side_, marks.data(), static_cast<int>(marks.size())).wait_asleep();
  message.all.no_message = marks[Mark::no_message] != 0;
  message.all.leave_requested = marks[Mark::leave_requested] != 0;
  message.all.evicted = marks[Mark::evicted] != 0;
  message.all.gone = marks[Mark::gone] != 0;
  message.all.dropped = marks[Mark::dropped] != 0;
  if (message.all.no_message) return;
  auto& header = message.header;
  if (have_same_header(marks)) {
    header = message.headers.at(message.deliveries.front().source);
  } else {
    head.resize(static_cast<size_t>(marks[Mark::header_size]));
    const int from = marks[Mark::from_end] != 0 ? marks[Mark::from_end] : marks[Mark::from_first];
    side_.broadcast(std::span(head), side_.size() - from);
    header = transport::decode_head(head.data(), head.size());
  }
  header.dropped = message.all.dropped;
  header.schema_changed = marks[Mark::schema_changed] != 0;
  header.scattered = marks[Mark::scattered] != 0;
  for (const size_t analysis : analyses_in(header))
    if (marks[Mark::first_analysis + analysis] != 0) message.all.unusable.insert(analysis);
}

// The first sidecar that has a source sends the header to the others.
PublicationHeader Messages::agree_on_header(
    const std::vector<transport::Delivery>& deliveries) const {
  const int from =
      side_.reduced(deliveries.empty() ? side_.size() : side_.rank(), comm::Operation::Min);
  base::Bytes bytes;
  if (side_.rank() == from) bytes = transport::head_of(deliveries.front());
  side_.broadcast(bytes, from);
  return transport::decode_head(bytes.data(), bytes.size());
}

std::vector<std::pair<size_t, transport::Due>> Messages::due_in(
    const PublicationHeader& header) const {
  std::vector<std::pair<size_t, transport::Due>> out;
  for (const auto& due : header.due) {
    const auto analysis = static_cast<size_t>(due.analysis - base_);
    if (due.analysis >= base_ && analysis < policy_.analyses()) out.emplace_back(analysis, due);
  }
  return out;
}

std::vector<size_t> Messages::analyses_in(const PublicationHeader& header) const {
  std::vector<size_t> out;
  for (const auto& [analysis, due] : due_in(header)) out.push_back(analysis);
  return out;
}

transport::ReceivedMeshes Messages::receive(const Message& message,
                                            const model::Catalogue& catalogue) {
  transport::ReceivedMeshes received;
  if (!message.all.dropped)
    for (const auto& delivery : message.deliveries) {
      auto decoded = transport::decode(
          delivery.data, delivery.size, delivery.keep,
          [&](const transport::Lent& lent, size_t bytes) {
            return receiver_->look(delivery.source, lent, bytes);
          },
          &kept_[delivery.source]);
      for (auto& [name, mesh] : decoded.meshes) {
        auto& all = received[name];
        all.kind = mesh.kind;
        std::move(mesh.blocks.begin(), mesh.blocks.end(), std::back_inserter(all.blocks));
        std::move(mesh.keep.begin(), mesh.keep.end(), std::back_inserter(all.keep));
      }
    }
  if (auto* direct = receiver_->direct()) {
    const auto routes = run::routes_for(layout_requests_, message.header, catalogue);
    direct->receive(message.header, message.headers, routes, catalogue, received);
  }
  return received;
}

}  // namespace pillion::sidecar

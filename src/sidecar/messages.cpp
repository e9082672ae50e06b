// SPDX-License-Identifier: BSD-3-Clause
// Reading messages and agreeing on them.
#include "sidecar/messages.hpp"

#include <algorithm>

namespace pillion::sidecar {

using transport::PublicationHeader;

Message Messages::next() {
  Message message;
  // The receiver asks only while it waits, which it never does where messages come fast.
  auto deliveries = leave_ && leave_() ? std::nullopt : receiver_->next();
  if (deliveries) {
    message.deliveries = std::move(*deliveries);
  } else if (leave_ && leave_()) {
    policy_.on(policy::LeaveRequested{});
  } else {
    policy_.on(policy::SourceEnded{});
  }
  for (const auto& delivery : message.deliveries) {
    auto& header = message.headers[delivery.source];
    header = transport::decode_head(delivery.data, delivery.size);
    policy::MessageArrived arrived{.dropped = header.dropped};
    for (const auto& [analysis, due] : due_in(header))
      if (due.unusable != 0) arrived.unusable.insert(analysis);
    policy_.on(arrived);
  }
  agree(message);
  if (!message.all.no_message) receiver_->begin();
  return message;
}

namespace {

/// What ranks reduce about a message: the places of the due analyses follow.
enum Mark { no_message, leave_requested, dropped, schema_changed, scattered, first_due };
constexpr size_t most_due = 59;  // beyond that places are shared

size_t place_of(size_t due) { return Mark::first_due + due % most_due; }

}  // namespace

// One reduction of fixed size. All sources of all ranks list the same due analyses in the same
// order, so their places agree. Every rank is here: each has a message, or knows that none comes.
void Messages::agree(Message& message) {
  const auto mine = policy_.take_status();
  std::array<int32_t, Mark::first_due + most_due> marks{};
  marks[Mark::no_message] = mine.no_message ? 1 : 0;
  marks[Mark::leave_requested] = mine.leave_requested ? 1 : 0;
  marks[Mark::dropped] = mine.dropped ? 1 : 0;
  for (const auto& [source, header] : message.headers) {
    if (header.schema_changed) marks[Mark::schema_changed] = 1;
    if (header.scattered) marks[Mark::scattered] = 1;
    for (size_t d = 0; d < header.due.size(); ++d)
      if (header.due[d].unusable != 0) marks[place_of(d)] = 1;
  }
  side_.reduce(marks.data(), marks.size(), comm::Operation::Max);
  message.all.no_message = marks[Mark::no_message] != 0;
  message.all.leave_requested = marks[Mark::leave_requested] != 0;
  message.all.dropped = marks[Mark::dropped] != 0;
  if (message.all.no_message) return;
  auto& header = message.header = agree_on_header(message.deliveries);
  header.dropped = message.all.dropped;
  header.schema_changed = marks[Mark::schema_changed] != 0;
  header.scattered = marks[Mark::scattered] != 0;
  if (header.kind == transport::MessageKind::Publication)
    for (size_t d = 0; d < header.due.size(); ++d) header.due[d].unusable = marks[place_of(d)];
  for (const auto& [analysis, due] : due_in(header))
    if (due.unusable != 0) message.all.unusable.insert(analysis);
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

transport::ReceivedMeshes Messages::receive(const Message& message,
                                            const model::Catalogue& catalogue) {
  transport::ReceivedMeshes received;
  if (!message.all.dropped)
    for (const auto& delivery : message.deliveries) {
      auto decoded = transport::decode(delivery.data, delivery.size, delivery.keep,
                                       [&](const transport::Lent& lent, size_t bytes) {
                                         return receiver_->look(delivery.source, lent, bytes);
                                       });
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

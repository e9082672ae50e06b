// SPDX-License-Identifier: BSD-3-Clause
// Messages there, acknowledgements back.
#include "transport/network.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "comm/message.hpp"

namespace pillion::transport {
NetworkSender::NetworkSender(const comm::Communicator& wire, std::vector<int> sidecars, int primary,
                             size_t budget)
    : wire_(wire),
      sidecars_(std::move(sidecars)),
      primary_(primary),
      to_(sidecars_.at(static_cast<size_t>(primary))),
      staging_(budget) {}

// What sidecars that ended early have not taken MPI may still read whenever the program calls it.
NetworkSender::~NetworkSender() {
  for (auto& sent : sent_) sent.buffer.abandon();
}

std::byte* NetworkSender::reserve(size_t size) {
  reserved_ = staging_.take(size);
  reserved_size_ = size;
  reserved_staged_ = true;
  return reserved_ ? reserved_->data() : nullptr;
}

std::byte* NetworkSender::reserve_head(size_t size) {
  reserved_.emplace(size);
  reserved_size_ = size;
  reserved_staged_ = false;
  return reserved_->data();
}

void NetworkSender::commit(int64_t sequence, size_t size, const std::vector<MessagePart>& parts) {
  if (!reserved_) base::fail(ErrorCode::Internal, "message {} was not reserved", sequence);
  std::vector<comm::Request> requests;
  requests.push_back(comm::send(wire_, reserved_->data(), size, to_, comm::tags::publication));
  for (const auto& part : parts)
    requests.push_back(comm::send(
        wire_, reserved_->data() + redistribution::aligned(size) + part.offset, part.size,
        sidecars_[static_cast<size_t>(part.receiver)], comm::tags::publication_body));
  sent_.push_back({sequence, std::move(*reserved_), reserved_staged_, std::move(requests)});
  reserved_.reset();
}

void NetworkSender::poll() {
  while (auto arrival = comm::find_arrival(wire_, to_, comm::tags::finished)) {
    base::Bytes bytes(arrival->size);
    comm::receive(*arrival, bytes.data());
    base::ByteReader in(bytes);
    const auto sequence = in.get<int64_t>();
    for (const auto analysis : in.get_vector<int32_t>()) disabled_.insert(analysis);
    failure_ = in.get<std::string>();
    take_cuts(in);
    finished(sequence);
  }
  give_back();
}

void NetworkSender::take_cuts(base::ByteReader& cuts) {
  while (!cuts.done()) {
    const auto due = cuts.get_vector<int32_t>();
    const auto mesh = cuts.get<std::string>();
    cuts_[due][mesh] = cuts.get_vector<uint64_t>();
    ++cuts_version_;
  }
}

std::optional<Targets> NetworkSender::targets(const DueSet& due) const {
  static const MeshCuts none;
  const auto at = cuts_.find(due);
  return Targets{static_cast<int>(sidecars_.size()), primary_,
                 at == cuts_.end() ? &none : &at->second};
}

// MPI has nothing to sleep on, so this sleeps a little and looks.
void NetworkSender::wait(double patience) {
  base::clock().sleep(std::min(patience, 200e-6));
  poll();
}

void NetworkSender::finished(int64_t sequence) {
  for (auto& sent : sent_) sent.is_finished = sent.is_finished || sent.sequence <= sequence;
}

// Other sidecars than the one that has finished may still have to take their part.
void NetworkSender::give_back() {
  while (!sent_.empty() && sent_.front().is_finished) {
    auto& sent = sent_.front();
    for (auto& request : sent.requests)
      if (!request.test()) return;
    if (sent.staged) staging_.give_back(std::move(sent.buffer));
    sent_.pop_front();
  }
}

NetworkReceiver::NetworkReceiver(const comm::Communicator& wire, const comm::Communicator& side,
                                 std::vector<int> sources)
    : wire_(wire),
      sources_(std::move(sources)),
      heads_(wire, comm::tags::publication),
      direct_(wire, side) {}

std::optional<std::vector<Delivery>> NetworkReceiver::next() {
  std::vector<Delivery> deliveries;
  auto messages = heads_.take(sources_);
  for (size_t s = 0; s < sources_.size(); ++s)
    deliveries.push_back(
        {sources_[s], messages[s].buffer->data(), messages[s].size, std::move(messages[s].buffer)});
  return deliveries;
}

void NetworkReceiver::look() {
  heads_.look(sources_);
  direct_.look();
}

void NetworkReceiver::finish(int64_t sequence, const std::set<int32_t>& disabled,
                             const std::string& failure) {
  base::ByteWriter out;
  out.put(sequence);
  out.put(std::vector<int32_t>(disabled.begin(), disabled.end()));
  out.put(failure);
  const auto cuts = direct_.take_cuts();
  out.put_raw(cuts.data(), cuts.size());
  std::vector<comm::Request> sent;
  for (const int source : sources_)
    sent.push_back(
        comm::send(wire_, out.bytes().data(), out.bytes().size(), source, comm::tags::finished));
  for (auto& request : sent) request.wait();
}

}  // namespace pillion::transport

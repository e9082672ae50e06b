// SPDX-License-Identifier: BSD-3-Clause
// Messages there, acknowledgements back.
#include "transport/network.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace pillion::transport {
namespace {

constexpr int publication_tag = 11;
constexpr int finished_tag = 12;

/// Sleeps a little longer each time, so that an idle sidecar leaves its core to others, and one
/// that is busy loses no time.
class Patience {
 public:
  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, std::chrono::microseconds(1000));
  }

 private:
  std::chrono::microseconds pause_{20};
};

}  // namespace

int sidecar_of(int simulation_rank, int simulation_ranks, int sidecar_ranks) {
  return static_cast<int>(static_cast<int64_t>(simulation_rank) * sidecar_ranks / simulation_ranks);
}

NetworkSender::NetworkSender(const comm::Communicator& wire, int to, size_t budget)
    : wire_(wire), to_(to), staging_(budget) {}

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

void NetworkSender::commit(int64_t sequence) {
  if (!reserved_) base::fail(ErrorCode::Internal, "message {} was not reserved", sequence);
  auto request = comm::send(wire_, reserved_->data(), reserved_size_, to_, publication_tag);
  sent_.push_back({sequence, std::move(*reserved_), reserved_staged_, std::move(request)});
  reserved_.reset();
}

void NetworkSender::poll() {
  while (auto arrival = comm::find_arrival(wire_, to_, finished_tag)) {
    base::Bytes bytes(arrival->size);
    comm::receive(*arrival, bytes.data());
    base::ByteReader in(bytes);
    const auto sequence = in.get<int64_t>();
    for (const auto analysis : in.get_vector<int32_t>()) disabled_.insert(analysis);
    failure_ = in.get<std::string>();
    finished(sequence);
  }
}

// MPI has nothing to sleep on, so this sleeps a little and looks.
void NetworkSender::wait(std::chrono::microseconds patience) {
  std::this_thread::sleep_for(std::min(patience, std::chrono::microseconds(200)));
  poll();
}

void NetworkSender::finished(int64_t sequence) {
  while (!sent_.empty() && sent_.front().sequence <= sequence) {
    sent_.front().request.wait();
    if (sent_.front().staged) staging_.give_back(std::move(sent_.front().buffer));
    sent_.pop_front();
  }
}

NetworkReceiver::NetworkReceiver(const comm::Communicator& wire, std::vector<int> sources)
    : wire_(wire), sources_(std::move(sources)), buffers_(sources_.size()) {}

std::shared_ptr<Buffer> NetworkReceiver::buffer_for(size_t source, size_t size) {
  auto& buffer = buffers_[source];
  const bool usable = buffer && buffer.use_count() == 1 && buffer->capacity() >= size;
  if (!usable) buffer = std::make_shared<Buffer>(size);
  return buffer;
}

std::optional<std::vector<Delivery>> NetworkReceiver::next() {
  std::vector<Delivery> deliveries(sources_.size());
  size_t missing = sources_.size();
  Patience patience;
  while (missing > 0) {
    bool progress = false;
    for (size_t s = 0; s < sources_.size(); ++s) {
      if (deliveries[s].data != nullptr) continue;
      auto arrival = comm::find_arrival(wire_, sources_[s], publication_tag);
      if (!arrival) continue;
      auto buffer = buffer_for(s, arrival->size);
      comm::receive(*arrival, buffer->data());
      deliveries[s] = {sources_[s], buffer->data(), arrival->size, buffer};
      --missing;
      progress = true;
    }
    if (missing > 0 && !progress) patience.wait();
  }
  return deliveries;
}

void NetworkReceiver::finish(int64_t sequence, const std::set<int32_t>& disabled,
                             const std::string& failure) {
  base::ByteWriter out;
  out.put(sequence);
  out.put(std::vector<int32_t>(disabled.begin(), disabled.end()));
  out.put(failure);
  std::vector<comm::Request> sent;
  for (const int source : sources_)
    sent.push_back(comm::send(wire_, out.bytes().data(), out.bytes().size(), source, finished_tag));
  for (auto& request : sent) request.wait();
}

}  // namespace pillion::transport

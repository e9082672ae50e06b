// SPDX-License-Identifier: BSD-3-Clause
// Taking in messages.
#include "transport/inbox.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace pillion::transport {
// If this sidecar ends early MPI may still write what was coming whenever the program calls it.
Inbox::~Inbox() {
  for (auto& [source, coming] : coming_)
    for (auto& each : coming) each.message.buffer->abandon();
}

std::shared_ptr<Buffer> Inbox::buffer_for(size_t size) {
  // The smallest that will do, or else the largest, made larger.
  std::shared_ptr<Buffer>* best = nullptr;
  for (auto& buffer : buffers_) {
    if (buffer.use_count() > 1) continue;
    const size_t there = buffer->capacity();
    if (best == nullptr) best = &buffer;
    else if ((*best)->capacity() < size ? there > (*best)->capacity()
                                        : there >= size && there < (*best)->capacity())
      best = &buffer;
  }
  if (best == nullptr) return buffers_.emplace_back(std::make_shared<Buffer>(size));
  if ((*best)->capacity() < size) *best = std::make_shared<Buffer>(size);
  return *best;
}

bool Inbox::look(int source) {
  constexpr size_t ahead = 2;
  auto& coming = coming_[source];
  if (coming.size() >= ahead) return false;
  auto arrival = comm::find_arrival(wire_, source, tag_);
  if (!arrival) return false;
  auto buffer = buffer_for(arrival->size);
  auto request = comm::start_receiving(*arrival, buffer->data());
  coming.push_back({{std::move(buffer), arrival->size}, std::move(request)});
  return true;
}

void Inbox::look(const std::vector<int>& sources) {
  for (const int source : sources)
    while (look(source)) continue;
}

std::vector<Message> Inbox::take(const std::vector<int>& sources) {
  const auto is_there = [&](int source) {
    auto& coming = coming_[source];
    return !coming.empty() && coming.front().request.test();
  };
  base::wait_until([&] {
    look(sources);
    return std::all_of(sources.begin(), sources.end(), is_there);
  });
  std::vector<Message> messages;
  for (const int source : sources) {
    messages.push_back(std::move(coming_[source].front().message));
    coming_[source].pop_front();
  }
  return messages;
}

}  // namespace pillion::transport

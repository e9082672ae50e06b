// SPDX-License-Identifier: BSD-3-Clause
// Messages from several ranks, taken in as they come, a few ahead of the one at work: so the next
// publication travels while sidecars are busy with this one.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "comm/message.hpp"
#include "transport/staging.hpp"

namespace pillion::transport {

struct Message {
  std::shared_ptr<Buffer> buffer;
  size_t size = 0;
};

class Inbox {
 public:
  Inbox(const comm::Communicator& wire, int tag) : wire_(wire), tag_(tag) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  /// Takes in what these ranks have sent, but no more than two messages of each. Waits for nothing.
  void look(const std::vector<int>& sources);
  /// The next message of each source, in their order. Waits without burning a core.
  std::vector<Message> take(const std::vector<int>& sources);

 private:
  struct Coming {
    Message message;
    comm::Request request;
  };
  bool look(int source);
  std::shared_ptr<Buffer> buffer_for(size_t size);

  const comm::Communicator& wire_;
  int tag_;
  std::map<int, std::deque<Coming>> coming_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  ///< used again when no other object holds them
};

}  // namespace pillion::transport

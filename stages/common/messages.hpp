// SPDX-License-Identifier: BSD-3-Clause
// Messages between peers by Step::exchange, for lists of values and for bytes by peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <pillion/stage.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace pillion::stages {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

/// Lists of values as messages, where there are any: out[p] is for peer p.
template <class T>
std::vector<stage::Message> messages_of(const std::vector<std::vector<T>>& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<stage::Message> messages;
  for (size_t p = 0; p < out.size(); ++p)
    if (!out[p].empty())
      messages.push_back({static_cast<int32_t>(p), std::as_bytes(std::span(out[p]))});
  return messages;
}

/// The same of a list for each peer to which there is anything to send.
template <class T>
std::vector<stage::Message> messages_of(const std::map<int32_t, std::vector<T>>& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<stage::Message> messages;
  for (const auto& [peer, values] : out)
    if (!values.empty()) messages.push_back({peer, std::as_bytes(std::span(values))});
  return messages;
}

/// Sends out[p] to peer p; returns what came, by peer. Most messages may be empty. What is received
/// lives as that of Step::exchange. [peers]
inline std::vector<ByteSpan> exchange_bytes(const stage::Step& step,
                                            const std::vector<Bytes>& out) {
  std::vector<ByteSpan> in(static_cast<size_t>(step.peers()));
  for (const auto& [peer, bytes] : step.exchange(messages_of(out)))
    in[static_cast<size_t>(peer)] = bytes;
  return in;
}

/// Adds the values of a message to the end of a list.
template <class T>
void append(std::vector<T>& values, ByteSpan bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.empty()) return;
  const size_t before = values.size();
  values.resize(before + bytes.size() / sizeof(T));
  std::memcpy(static_cast<void*>(values.data() + before), bytes.data(), bytes.size());
}

/// Sends out[p] to peer p; returns what all have sent to this one, in the order of peers. [peers]
template <class T>
std::vector<T> exchange_values(const stage::Step& step, const std::vector<std::vector<T>>& out) {
  std::vector<T> in;
  for (const auto& message : step.exchange(messages_of(out))) append(in, message.bytes);
  return in;
}

/// The values of all peers, in their order, at the first; none elsewhere. [peers]
template <class T>
std::vector<T> gather_values(const stage::Step& step, const std::vector<T>& mine) {
  std::vector<T> all;
  for (const auto& message : step.gather(std::as_bytes(std::span(mine))))
    append(all, message.bytes);
  return all;
}

}  // namespace pillion::stages

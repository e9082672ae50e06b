// SPDX-License-Identifier: BSD-3-Clause
// Peers that have a record and peers that request it meet at the owner of each key. What peers
// restore is at its owners already, so that it moves only once.
#include "stagehost/fetch.hpp"

#include <unordered_map>

#include "base/bytes.hpp"
#include "layout/assignment.hpp"

namespace pillion::stagehost {

using base::Bytes;

namespace {

template <class T>
void append(Bytes& to, const T& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), begin, begin + sizeof value);
}

int64_t key_at(const Bytes& bytes, size_t at) {
  int64_t key = 0;
  std::memcpy(&key, bytes.data() + at, sizeof key);
  return key;
}

/// Keys and records, to the owner of each key.
std::vector<Bytes> dealt(const pillion_records& have, int peers) {
  std::vector<Bytes> out(static_cast<size_t>(peers));
  const auto* record = static_cast<const std::byte*>(have.values);
  for (int64_t i = 0; i < have.count; ++i, record += have.record_size) {
    auto& to = out[static_cast<size_t>(layout::owner_of(have.keys[i], peers))];
    append(to, have.keys[i]);
    to.insert(to.end(), record, record + have.record_size);
  }
  return out;
}

std::vector<Bytes> asked(std::span<const int64_t> wanted, int peers) {
  std::vector<Bytes> out(static_cast<size_t>(peers));
  for (const int64_t key : wanted)
    append(out[static_cast<size_t>(layout::owner_of(key, peers))], key);
  return out;
}

using Places = std::unordered_map<int64_t, const std::byte*>;

Places places_of(const std::vector<Bytes>& received, size_t record_size) {
  Places places;
  for (const auto& bytes : received)
    for (size_t at = 0; at < bytes.size(); at += sizeof(int64_t) + record_size)
      if (const int64_t key = key_at(bytes, at);
          !places.emplace(key, bytes.data() + at + sizeof(int64_t)).second)
        base::fail(
            ErrorCode::Stage,
            "two records of a stage have the key {}, so they cannot be distinguished; are the "
            "simulation's numbers all different?",
            key);
  return places;
}

std::vector<Bytes> answers(const std::vector<Bytes>& questions, const Places& places,
                           size_t record_size) {
  std::vector<Bytes> out(questions.size());
  for (size_t peer = 0; peer < questions.size(); ++peer)
    for (size_t at = 0; at < questions[peer].size(); at += sizeof(int64_t)) {
      const int64_t key = key_at(questions[peer], at);
      const auto place = places.find(key);
      if (place == places.end())
        base::fail(ErrorCode::Stage, "a stage requests the record of key {}, which no peer has",
                   key);
      out[peer].insert(out[peer].end(), place->second, place->second + record_size);
    }
  return out;
}

}  // namespace

void fetch(const pillion_records& have, std::span<const int64_t> wanted, void* records,
           const ExecutionContext& context) {
  const auto& peers = *context.peers;
  auto& fence = *context.fence;
  const auto given = dealt(have, peers.size());
  const auto questions = asked(wanted, peers.size());
  fence.before_collective();
  const auto received = peers.exchange(given);
  const auto questioned = peers.exchange(questions);
  const auto replies = answers(questioned, places_of(received, have.record_size), have.record_size);
  fence.before_collective();
  const auto answered = peers.exchange(replies);
  std::vector<size_t> next(answered.size());
  auto* to = static_cast<std::byte*>(records);
  for (const int64_t key : wanted) {
    const auto owner = static_cast<size_t>(layout::owner_of(key, peers.size()));
    std::memcpy(to, answered[owner].data() + next[owner], have.record_size);
    next[owner] += have.record_size;
    to += have.record_size;
  }
}

}  // namespace pillion::stagehost

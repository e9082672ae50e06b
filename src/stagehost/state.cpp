// SPDX-License-Identifier: BSD-3-Clause
// States as files. A node's file has the chunks of its ranks. On reading, each rank takes some
// chunks of one file, or all of several, and sends each record to the owner of its key.
#include "stagehost/state.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "comm/message.hpp"
#include "layout/assignment.hpp"
#include "products/whole_file.hpp"

namespace pillion::stagehost {

using base::Bytes;

namespace fs = std::filesystem;

namespace {

using Keyed = std::map<std::string, Records>;

void append(Records& to, int64_t key, const std::byte* value, size_t record_size) {
  to.record_size = record_size;
  to.keys.push_back(key);
  to.values.insert(to.values.end(), value, value + record_size);
}

/// Adds records to those of the owners of their keys.
void distribute(const std::string& name, const Records& records, int ranks,
                std::map<int, Keyed>& owners) {
  for (size_t i = 0; i < records.keys.size(); ++i)
    append(owners[layout::owner_of(records.keys[i], ranks)][name], records.keys[i],
           records.values.data() + i * records.record_size, records.record_size);
}

void add(const Keyed& from, Keyed& to) {
  for (const auto& [name, records] : from) {
    auto& all = to[name];
    all.record_size = records.record_size;
    all.keys.insert(all.keys.end(), records.keys.begin(), records.keys.end());
    all.values.insert(all.values.end(), records.values.begin(), records.values.end());
  }
}

void sort_by_key(Records& records) {
  std::vector<size_t> order(records.keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return records.keys[a] < records.keys[b]; });
  Records sorted{{}, records.record_size, {}};
  for (const size_t i : order)
    append(sorted, records.keys[i], records.values.data() + i * records.record_size,
           records.record_size);
  records = std::move(sorted);
}

/// The records of a chunk: first all keys, then all values.
Records records_of(const StateChunk& chunk, const Bytes& bytes) {
  Records records;
  records.record_size = static_cast<size_t>(chunk.record_size);
  records.keys.resize(static_cast<size_t>(chunk.records));
  const size_t keys = records.keys.size() * sizeof(int64_t);
  if (keys > 0) std::memcpy(records.keys.data(), bytes.data(), keys);
  records.values.assign(bytes.begin() + static_cast<ptrdiff_t>(keys), bytes.end());
  return records;
}

/// What one rank reads of all files.
struct Reading {
  std::map<std::string, Bytes> globals;  ///< on the first rank
  std::map<std::string, size_t> names;   ///< of records, and their sizes
  std::map<int, Keyed> owners;
};

/// The chunks of one file that member `me` of `members` readers takes.
void read_chunks(const StateFile& file, int me, int members, const comm::Communicator& peers,
                 Reading& reading) {
  int next = 0;
  for (const auto& chunk : file.index().chunks) {
    if (chunk.is_global) {
      // Only the first file has such values.
      if (peers.rank() == 0) reading.globals[chunk.name] = file.read(chunk);
      continue;
    }
    if (me == 0) reading.names[chunk.name] = static_cast<size_t>(chunk.record_size);
    if (next++ % members == me)
      distribute(chunk.name, records_of(chunk, file.read(chunk)), peers.size(), reading.owners);
  }
}

Reading read_files(const fs::path& folder, int64_t files, const comm::Communicator& peers) {
  Reading reading;
  const int64_t rank = peers.rank(), ranks = peers.size();
  for (int64_t f = rank % files; f < files; f += ranks) {
    const StateFile file(folder, f);
    if (file.index().files != files)
      base::fail(ErrorCode::File, "the state file '{}' is one of {}, and the first file of {}",
                 state_file(folder, f).string(), file.index().files, files);
    // With fewer files than ranks, the ranks f, f + files, f + 2 files, ... share file f.
    const int64_t members = files < ranks ? (ranks - f + files - 1) / files : 1;
    read_chunks(file, static_cast<int>(files < ranks ? rank / files : 0), static_cast<int>(members),
                peers, reading);
  }
  return reading;
}

const auto joined_names = [](const Bytes& lower, const Bytes& higher) {
  auto names = base::from_bytes<std::map<std::string, size_t>>(lower);
  names.merge(base::from_bytes<std::map<std::string, size_t>>(higher));
  return base::to_bytes(names);
};

/// How many files a state has, by its first one.
int64_t count_files(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(state_file(folder, 0), error))
    base::fail(ErrorCode::File, "the checkpoint has no state in '{}'", folder.string());
  return StateFile(folder, 0).index().files;
}

/// What all ranks have to know: global values, and the names of records.
struct Common {
  std::map<std::string, Bytes> globals;
  Bytes names;

  static constexpr auto members() { return std::tuple{&Common::globals, &Common::names}; }
};

}  // namespace

StatePart part_of(const pillion_state& state, bool with_globals) {
  StatePart part;
  for (const auto& [name, value] : state.globals) {
    if (!with_globals) break;
    auto* to = part.add({.name = name, .is_global = true}, value.size());
    if (!value.empty()) std::memcpy(to, value.data(), value.size());
  }
  for (const auto& [name, records] : state.keyed) {
    const size_t keys = records.keys.size() * sizeof(int64_t);
    auto* to = part.add({.name = name,
                         .record_size = static_cast<int64_t>(records.record_size),
                         .records = static_cast<int64_t>(records.keys.size())},
                        keys + records.values.size());
    if (keys > 0) std::memcpy(to, records.keys.data(), keys);
    if (!records.values.empty())
      std::memcpy(to + keys, records.values.data(), records.values.size());
  }
  part.seal();
  return part;
}

void write_state(const pillion_state& state, const fs::path& folder, const StateRanks& ranks,
                 comm::Fence& fence, bool durable) {
  const auto mine = base::to_bytes(part_of(state, ranks.peers.rank() == 0));
  // All peers have their part, so every node's ranks come to gather it.
  fence.before_collective();
  std::vector<StatePart> parts;
  ranks.on_node.gather_each(mine, 0, [&](int, std::span<const std::byte> bytes) {
    parts.push_back(base::ByteReader(bytes.data(), bytes.size()).get<StatePart>());
  });
  if (ranks.on_node.rank() != 0) return;
  const int number = ranks.leaders.rank();
  products::write_whole(state_file(folder, number),
                        format_state_file(number, ranks.leaders.size(), parts), durable);
}

pillion_state read_state(const fs::path& folder, const comm::Communicator& peers,
                         comm::Fence& fence) {
  const int64_t counted = peers.rank() == 0 ? count_files(folder) : 0;
  fence.before_collective();
  const int64_t files = peers.reduced(counted, comm::Operation::Max);
  auto reading = read_files(folder, files, peers);
  auto names = base::to_bytes(reading.names);
  fence.before_collective();
  Common common{std::move(reading.globals), peers.fold(std::move(names), joined_names)};
  Bytes bytes = base::to_bytes(common);
  // A rank that could not join names comes here no more.
  fence.before_collective();
  bytes = comm::broadcast_made(peers, 0, [&] { return std::move(bytes); });
  common = base::from_bytes<Common>(bytes);
  pillion_state state{.globals = std::move(common.globals), .keyed = {}};
  // A stage finds all names, even if this rank owns no record of that name.
  for (const auto& [name, size] : base::from_bytes<std::map<std::string, size_t>>(common.names))
    state.keyed[name].record_size = size;
  std::map<int, Bytes> out;
  for (const auto& [owner, records] : reading.owners)
    if (owner == peers.rank()) add(records, state.keyed);
    else out[owner] = base::to_bytes(records);
  reading.owners.clear();
  fence.before_collective();
  // The reduction of the fence keeps exchanges of two stages apart.
  for (const auto& [from, sent] : comm::SparseExchange(peers, comm::tags::state_records)(out))
    add(base::from_bytes<Keyed>(sent), state.keyed);
  for (auto& [name, records] : state.keyed) sort_by_key(records);
  return state;
}

}  // namespace pillion::stagehost

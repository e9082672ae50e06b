// SPDX-License-Identifier: BSD-3-Clause
// State files. Each rank writes its own; on reading, rank r of n takes files r, r+n, ..., and sends
// each record to the owner of its key.
#include "stagehost/state.hpp"

#include <algorithm>
#include <numeric>

#include "layout/assignment.hpp"
#include "products/whole_file.hpp"

namespace pillion::stagehost {

using base::ByteReader;
using base::Bytes;
using base::ByteWriter;

namespace fs = std::filesystem;

namespace {

constexpr const char* magic = "pillion state 1";

void append(Records& to, int64_t key, const std::byte* value, size_t record_size) {
  to.record_size = record_size;
  to.keys.push_back(key);
  to.values.insert(to.values.end(), value, value + record_size);
}

/// Deals the records of a file or message to the owners of their keys.
void distribute(const std::map<std::string, Records>& keyed,
                std::vector<std::map<std::string, Records>>& owners) {
  for (const auto& [name, records] : keyed) {
    const size_t size = records.record_size;
    if (records.values.size() != records.keys.size() * size)
      base::fail(ErrorCode::File, "the state '{}' has {} bytes for {} records of {} bytes", name,
                 records.values.size(), records.keys.size(), size);
    // Every owner knows the name, even if it owns none of the records.
    for (auto& owner : owners) owner[name].record_size = size;
    for (size_t i = 0; i < records.keys.size(); ++i) {
      const int owner = layout::owner_of(records.keys[i], static_cast<int>(owners.size()));
      append(owners[static_cast<size_t>(owner)][name], records.keys[i],
             records.values.data() + i * size, size);
    }
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

fs::path file_of(const fs::path& folder, int rank) {
  return folder / fmt::format("{:06}.state", rank);
}

int count_files(const fs::path& folder) {
  int count = 0;
  std::error_code error;
  while (fs::exists(file_of(folder, count), error)) ++count;
  if (count == 0)
    base::fail(ErrorCode::File, "the checkpoint has no state in '{}'", folder.string());
  return count;
}

/// What this rank reads: global values (from file 0 only) and messages to the owners.
std::vector<Bytes> read_files(const fs::path& folder, int files, int rank, int ranks,
                              std::map<std::string, Bytes>& globals) {
  std::vector<std::map<std::string, Records>> owners(static_cast<size_t>(ranks));
  for (int file = rank; file < files; file += ranks) {
    const std::string content = products::read_file(file_of(folder, file));
    ByteReader in(reinterpret_cast<const std::byte*>(content.data()), content.size());
    if (in.get<std::string>() != magic)
      base::fail(ErrorCode::File, "'{}' is not a state of this version",
                 file_of(folder, file).string());
    auto state = in.get<pillion_state>();
    if (file == 0) globals = std::move(state.globals);
    distribute(state.keyed, owners);
  }
  std::vector<Bytes> out;
  for (const auto& records : owners) out.push_back(base::to_bytes(records));
  return out;
}

}  // namespace

void write_state(const pillion_state& state, const fs::path& folder, int rank, bool durable) {
  ByteWriter out;
  out.put(std::string(magic));
  out.put(rank == 0 ? state.globals : std::map<std::string, Bytes>());
  out.put(state.keyed);
  const auto& bytes = out.bytes();
  products::write_whole(file_of(folder, rank),
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, durable);
}

pillion_state read_state(const fs::path& folder, const comm::Communicator& peers,
                         comm::Fence& fence) {
  pillion_state state;
  // One rank counts: if all did, they would look for each of thousands of files thousands of times.
  const int32_t counted = peers.rank() == 0 ? count_files(folder) : 0;
  fence.before_collective();
  const int32_t files = peers.reduced(counted, comm::Operation::Max);
  const auto out = read_files(folder, files, peers.rank(), peers.size(), state.globals);
  fence.before_collective();
  const auto received = peers.exchange(out);
  std::vector<std::map<std::string, Records>> mine(1);
  for (const auto& bytes : received)
    if (!bytes.empty()) distribute(base::from_bytes<std::map<std::string, Records>>(bytes), mine);
  state.keyed = std::move(mine[0]);
  for (auto& [name, records] : state.keyed) sort_by_key(records);
  Bytes globals = base::to_bytes(state.globals);
  fence.before_collective();
  peers.broadcast(globals, 0);
  state.globals = base::from_bytes<std::map<std::string, Bytes>>(globals);
  return state;
}

}  // namespace pillion::stagehost

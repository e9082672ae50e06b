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

void put(ByteWriter& out, const std::map<std::string, Bytes>& globals) {
  out.put(static_cast<int64_t>(globals.size()));
  for (const auto& [name, bytes] : globals) {
    out.put(name);
    out.put(static_cast<int64_t>(bytes.size()));
    out.put_raw(bytes.data(), bytes.size());
  }
}

std::map<std::string, Bytes> get_globals(ByteReader& in) {
  std::map<std::string, Bytes> globals;
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    const auto size = static_cast<size_t>(in.get<int64_t>());
    const std::byte* begin = in.take(size);
    globals[name].assign(begin, begin + size);
  }
  return globals;
}

void put(ByteWriter& out, const std::map<std::string, Records>& keyed) {
  out.put(static_cast<int64_t>(keyed.size()));
  for (const auto& [name, records] : keyed) {
    out.put(name);
    out.put(static_cast<int64_t>(records.record_size));
    out.put(static_cast<int64_t>(records.keys.size()));
    out.put_raw(records.keys.data(), records.keys.size() * sizeof(int64_t));
    out.put_raw(records.values.data(), records.values.size());
  }
}

void append(Records& to, const std::byte* key, const std::byte* value, size_t record_size) {
  int64_t k = 0;
  std::memcpy(&k, key, sizeof k);
  to.record_size = record_size;
  to.keys.push_back(k);
  to.values.insert(to.values.end(), value, value + record_size);
}

/// Deals the records in a file or message to the owners of their keys.
void deal(ByteReader& in, std::vector<std::map<std::string, Records>>& owners) {
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    const auto record_size = static_cast<size_t>(in.get<int64_t>());
    const auto count = static_cast<size_t>(in.get<int64_t>());
    const std::byte* keys = in.take(count * sizeof(int64_t));
    const std::byte* values = in.take(count * record_size);
    // Every owner knows the name, even if it owns none of the records.
    for (auto& owner : owners) owner[name].record_size = record_size;
    for (size_t i = 0; i < count; ++i) {
      int64_t key = 0;
      std::memcpy(&key, keys + i * sizeof key, sizeof key);
      const int owner = layout::owner_of(key, static_cast<int>(owners.size()));
      append(owners[static_cast<size_t>(owner)][name], keys + i * sizeof key,
             values + i * record_size, record_size);
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
    append(sorted, reinterpret_cast<const std::byte*>(&records.keys[i]),
           records.values.data() + i * records.record_size, records.record_size);
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
    auto found = get_globals(in);
    if (file == 0) globals = std::move(found);
    deal(in, owners);
  }
  std::vector<Bytes> out;
  for (const auto& records : owners) {
    ByteWriter writer;
    put(writer, records);
    out.push_back(writer.take());
  }
  return out;
}

}  // namespace

void write_state(const pillion_state& state, const fs::path& folder, int rank, bool durable) {
  ByteWriter out;
  out.put(std::string(magic));
  put(out, rank == 0 ? state.globals : std::map<std::string, Bytes>());
  put(out, state.keyed);
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
  for (const auto& bytes : received) {
    ByteReader in(bytes);
    if (!bytes.empty()) deal(in, mine);
  }
  state.keyed = std::move(mine[0]);
  for (auto& [name, records] : state.keyed) sort_by_key(records);
  ByteWriter writer;
  put(writer, state.globals);
  Bytes globals = writer.take();
  fence.before_collective();
  peers.broadcast(globals, 0);
  ByteReader in(globals);
  state.globals = get_globals(in);
  return state;
}

}  // namespace pillion::stagehost

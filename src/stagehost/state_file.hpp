// SPDX-License-Identifier: BSD-3-Clause
// One file with the state that the ranks of one node have of one stage. It begins with an index of
// chunks: what each rank saved under each name. Index and chunks have checksums, so any damage is
// found by the rank that reads the damaged part.
//
//   8 bytes  "PILSTATE"
//   8 bytes  length of the index in bytes
//   4 bytes  CRC-32C of the 16 bytes before and of the index
//   index    StateIndex, as base::to_bytes writes it
//   chunks   one after the other, to the end of the file
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"

namespace pillion::stagehost {

struct StateChunk {
  std::string name;
  bool is_global = false;   ///< a value that is the same on every rank, else records with keys
  int64_t record_size = 0;  ///< of the records
  int64_t records = 0;      ///< their number: the chunk has all keys, then all values
  int64_t offset = 0;       ///< in the file
  int64_t size = 0;         ///< in bytes
  uint32_t checksum = 0;

  static constexpr auto members() {
    using C = StateChunk;
    return std::tuple{&C::name,   &C::is_global, &C::record_size, &C::records,
                      &C::offset, &C::size,      &C::checksum};
  }
};

struct StateIndex {
  int64_t file = 0;   ///< its number
  int64_t files = 0;  ///< of the same state
  std::vector<StateChunk> chunks;

  static constexpr auto members() {
    return std::tuple{&StateIndex::file, &StateIndex::files, &StateIndex::chunks};
  }
};

/// What one rank adds to its node's file: chunks with offsets from the beginning of `content`.
struct StatePart {
  std::vector<StateChunk> chunks;
  base::Bytes content;

  static constexpr auto members() { return std::tuple{&StatePart::chunks, &StatePart::content}; }
  /// Adds a chunk of this many bytes, which the caller fills.
  std::byte* add(StateChunk chunk, size_t size);
  /// Notes the checksums when all chunks are filled.
  void seal();
};

/// The content of a file, of the parts of the node's ranks.
std::string format_state_file(int64_t file, int64_t files, const std::vector<StatePart>& parts);

/// FOLDER/NUMBER.state.
std::filesystem::path state_file(const std::filesystem::path& folder, int64_t number);

/// One file, open for reading. Every failure names the file, with ErrorCode::File.
class StateFile {
 public:
  /// Reads the index, and checks it.
  StateFile(const std::filesystem::path& folder, int64_t number);
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  ~StateFile();
  [[nodiscard]] const StateIndex& index() const { return index_; }
  /// The bytes of a chunk, checked.
  [[nodiscard]] base::Bytes read(const StateChunk& chunk) const;

 private:
  [[noreturn]] void fail(const std::string& why) const;
  void read_index(int64_t number);
  void check_chunks(int64_t begin, int64_t end) const;
  [[nodiscard]] base::Bytes read_bytes(int64_t offset, int64_t size) const;

  std::filesystem::path path_;
  int file_ = -1;
  int64_t length_ = 0;
  StateIndex index_;
};

}  // namespace pillion::stagehost

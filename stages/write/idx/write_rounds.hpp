// SPDX-License-Identifier: BSD-3-Clause
// Blocks on their way to the few peers that write files for all. A file has one writer, and a
// writer takes its files one after the other. Data move in rounds: in each, a writer receives one
// range of one file, so that the memory that it needs depends neither on the size of files nor on
// the number of peers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <pillion/stage.hpp>
#include <utility>
#include <vector>

#include "../../common/messages.hpp"

namespace pillion::stages::write_idx {

/// Which peer writes a file.
struct FileWriters {
  size_t count = 0;  ///< of writers for all; 0: every peer writes what it has, and some the heads
  size_t peers = 1;  ///< over which writers are spread

  [[nodiscard]] bool gathers() const { return count > 0; }
  [[nodiscard]] size_t of(int64_t file) const {
    const size_t writers = gathers() ? count : peers;
    return static_cast<size_t>(file) % writers * peers / writers;
  }
  /// How many files the writer of a file has before it.
  [[nodiscard]] int64_t turn(int64_t file) const { return file / static_cast<int64_t>(count); }
  /// Calls use(file) for those of `files` files that a peer writes.
  template <class Use>
  void for_each_file(size_t peer, int64_t files, Use&& use) const {
    const size_t writers = gathers() ? count : peers;
    const auto first = static_cast<int64_t>((peer * writers + peers - 1) / peers);
    if (first >= static_cast<int64_t>(writers) || of(first) != peer) return;
    for (int64_t file = first; file < files; file += static_cast<int64_t>(writers)) use(file);
  }
};

/// Ranks that write to one file wait for each other, but sending all data to others takes time as
/// well. So up to 16 ranks may open a file, and if it were more, one does.
inline FileWriters usual_writers(size_t peers, int64_t files) {
  constexpr size_t most_in_file = 16;
  const auto count = static_cast<size_t>(files);
  return {peers > most_in_file * count ? count : 0, peers};
}

/// What a writer receives in a round: a quarter of what a peer has, as a rule.
inline int64_t usual_round_bytes(int64_t bytes_of_step, size_t peers) {
  constexpr int64_t least = int64_t{1} << 20, most = int64_t{16} << 20;
  return std::clamp(bytes_of_step / static_cast<int64_t>(4 * peers), least, most);
}

class WriteRounds {
 public:
  /// No file is longer than `file_bytes`.
  WriteRounds(const FileWriters& writers, int64_t file_bytes, int64_t round_bytes)
      : writers_(writers), file_bytes_(file_bytes), round_bytes_(round_bytes) {}

  /// Keeps bytes for the writer of a file. No two may have the same place in it.
  void put(int64_t file, int64_t offset, ByteSpan bytes) {
    while (!bytes.empty()) {
      const int64_t at = writers_.turn(file) * file_bytes_ + offset;
      const auto left = static_cast<size_t>(round_bytes_ - at % round_bytes_);
      const auto part = bytes.first(std::min(bytes.size(), left));
      waiting_[at / round_bytes_][writers_.of(file)].push_back(
          {file, offset, Bytes(part.begin(), part.end())});
      offset += static_cast<int64_t>(part.size());
      bytes = bytes.subspan(part.size());
    }
  }

  static constexpr int64_t none = std::numeric_limits<int64_t>::max();
  /// The first round for which this peer has anything.
  [[nodiscard]] int64_t next() const { return waiting_.empty() ? none : waiting_.begin()->first; }
  /// What this peer has for the writers in a round, by peer, and has no longer.
  std::vector<std::pair<size_t, Bytes>> take(int64_t round) {
    std::vector<std::pair<size_t, Bytes>> out;
    const auto found = waiting_.find(round);
    if (found == waiting_.end()) return out;
    for (auto& [peer, pieces] : found->second) out.emplace_back(peer, message_of(pieces));
    waiting_.erase(found);
    return out;
  }

  /// Brings all that peers have put to the writers, which call write(file, bytes, offset); returns
  /// the bytes that this peer has sent. [peers]
  template <class Write>
  int64_t send(const stage::Step& step, Write&& write) {
    int64_t sent = 0;
    while (true) {
      int64_t round = next();  // rounds for which no peer has anything are left out
      step.min(std::span(&round, 1));
      if (round == none) return sent;
      const auto mine = take(round);
      std::vector<stage::Message> out;
      for (const auto& [peer, bytes] : mine) {
        out.push_back({static_cast<int32_t>(peer), bytes});
        sent += static_cast<int64_t>(bytes.size());
      }
      std::vector<Received> pieces;
      for (const auto& message : step.exchange(out)) add(pieces, message.bytes);
      std::sort(pieces.begin(), pieces.end(), [](const Received& a, const Received& b) {
        return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
      });
      for (const auto& piece : pieces) write(piece.file, piece.bytes, piece.offset);
    }
  }

 private:
  struct Piece {
    int64_t file, offset;
    Bytes bytes;
  };
  /// Stands before the bytes in a message.
  struct Head {
    int64_t file, offset, size;
  };
  struct Received {
    int64_t file, offset;
    ByteSpan bytes;
  };

  /// Pieces that follow each other in a file become one.
  static Bytes message_of(std::vector<Piece>& pieces) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
    });
    size_t size = 0;
    for (const auto& piece : pieces) size += sizeof(Head) + piece.bytes.size();
    Bytes out;
    out.reserve(size);
    Head head{-1, 0, 0};
    size_t head_at = 0;
    for (auto& piece : pieces) {
      if (piece.file != head.file || piece.offset != head.offset + head.size) {
        head = {piece.file, piece.offset, 0};
        head_at = out.size();
        out.resize(head_at + sizeof head);
      }
      head.size += static_cast<int64_t>(piece.bytes.size());
      std::memcpy(out.data() + head_at, &head, sizeof head);
      out.insert(out.end(), piece.bytes.begin(), piece.bytes.end());
      piece.bytes = {};
    }
    return out;
  }
  static void add(std::vector<Received>& pieces, ByteSpan message) {
    while (message.size() >= sizeof(Head)) {
      Head head{};
      std::memcpy(&head, message.data(), sizeof head);
      message = message.subspan(sizeof head);
      if (head.size < 0 || static_cast<size_t>(head.size) > message.size())
        throw Error(ErrorCode::Internal, "a message to the writer of a file is cut off");
      pieces.push_back({head.file, head.offset, message.first(static_cast<size_t>(head.size))});
      message = message.subspan(static_cast<size_t>(head.size));
    }
  }

  FileWriters writers_;
  int64_t file_bytes_, round_bytes_;
  /// By round, and by the peer that writes.
  std::map<int64_t, std::map<size_t, std::vector<Piece>>> waiting_;
};

}  // namespace pillion::stages::write_idx

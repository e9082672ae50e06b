// SPDX-License-Identifier: BSD-3-Clause
// Writes publications as steps of an IDX dataset, on all peers together. The dataset's text, which
// makes a step exist for readers, is written by the caller when all of it is on disk.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <pillion/idx/blocks.hpp>
#include <pillion/stage.hpp>
#include <span>
#include <utility>
#include <vector>

#include "../../common/files.hpp"
#include "../fields.hpp"
#include "block_plan.hpp"
#include "boxes.hpp"
#include "cell_encoding.hpp"
#include "write_rounds.hpp"

namespace pillion::stages::write_idx {

class Batch {
 public:
  explicit Batch(OpenFiles& files) : files_(files) {}

  /// The bytes must stay as they are until the next flush.
  void write(const std::filesystem::path& path, std::span<const std::byte> bytes, int64_t offset) {
    const bool joins = bytes.data() == bytes_.data() + bytes_.size() && path == path_ &&
                       offset == offset_ + static_cast<int64_t>(bytes_.size());
    if (joins && !bytes_.empty()) {
      bytes_ = {bytes_.data(), bytes_.size() + bytes.size()};
      return;
    }
    flush();
    path_ = path;
    offset_ = offset;
    bytes_ = bytes;
  }
  void flush() {
    if (!bytes_.empty()) files_.write(path_, bytes_, offset_);
    bytes_ = {};
  }

 private:
  OpenFiles& files_;
  std::filesystem::path path_;
  int64_t offset_ = 0;
  std::span<const std::byte> bytes_;
};

struct IdxOptions {
  bool direct = false;        ///< every peer writes the runs of samples that it has
  size_t aggregators = 0;     ///< peers that write for all; 0: to be chosen
  bool durable = true;        ///< a step is listed when it is on disk
  int64_t at_once = 0;        ///< how many peers write at the same time; 0: all
  int64_t shared_blocks = 1;  ///< of blocks below this number several peers have parts, as a rule
};

/// What a step has cost this peer.
struct IdxCost {
  double plan = 0, encode = 0, exchange = 0, write = 0;  ///< seconds; whole blocks are written
                                                         ///< as soon as they are encoded
  int64_t bytes = 0, sent = 0, files = 0, runs = 0;
};

class IdxWriter {
 public:
  /// `sources` name the source of each of the dataset's fields. Files lie below `folder`.
  IdxWriter(idx::Dataset dataset, std::vector<write::Source> sources, std::filesystem::path folder,
            const IdxOptions& options);

  [[nodiscard]] const idx::Dataset& dataset() const { return dataset_; }
  idx::Dataset& dataset() { return dataset_; }
  /// How many of that many peers write: all, or a few for the others.
  [[nodiscard]] size_t writers_among(size_t peers) const;
  /// Throws where something could not be written; the next call in which peers meet then throws on
  /// all of them. [peers]
  IdxCost write(const std::vector<SampleBox>& boxes, const stage::Step& step);

 private:
  struct Closing;
  /// Fields that come from one array, side by side in its elements.
  struct Group {
    size_t first = 0, count = 0;  ///< of the dataset's fields
  };
  /// Blocks as they are stored, by field and block.
  using Blocks = std::map<std::pair<size_t, int64_t>, Bytes>;

  void make_plan(const std::vector<SampleBox>& boxes, const stage::Step& step);
  [[nodiscard]] FileWriters writers_of(size_t peers) const;
  /// Begins to write a step: files, and rounds if few peers write for all.
  void open(const stage::Step& step);
  /// Calls body() on as many peers at the same time as may write. [peers]
  template <class Body>
  void write_in_turn(const stage::Step& step, Body&& body) const;
  void encode_all(const stage::Step& step);
  /// Writes bytes to a file, or keeps them for its writer until the next send_rounds().
  void put(int64_t file, std::span<const std::byte> bytes, int64_t offset);
  /// Brings what was put to the writers, if few peers write for all. [peers]
  void send_rounds(const stage::Step& step);
  [[nodiscard]] std::vector<Group> groups() const;
  /// Puts the samples of a cell in order, and each where it belongs.
  void handle(const CellPlan& cell, const Group& group);
  void write_parts(const CellPlan& cell, size_t field, const std::byte* encoded);
  void exchange_parts(const stage::Step& step);
  /// Where parts of a field begin in the message to or from a peer with `samples` samples.
  [[nodiscard]] size_t message_offset(size_t field, int64_t samples) const;
  void put_together(const stage::Step& step);
  void keep(size_t field, int64_t block, std::span<const std::byte> bytes);
  Bytes& assembled(size_t field, int64_t block);
  void keep_assembled();
  /// Agrees on where compressed blocks lie. [peers]
  void place(const stage::Step& step);
  /// Place of a block in the head of its file.
  [[nodiscard]] size_t entry_of(int64_t field, int64_t block) const;
  void write_kept(const stage::Step& step);
  void write_heads(const stage::Step& step);
  const idx::File& file(int64_t number);
  [[nodiscard]] std::filesystem::path path_of(int64_t file_number) const;
  [[nodiscard]] int64_t file_count() const;
  [[nodiscard]] size_t block_bytes(size_t field) const;
  [[nodiscard]] int64_t offset_of(size_t field, int64_t block);
  [[nodiscard]] bool compresses() const { return dataset_.fields[0].codec != idx::Codec::raw; }

  idx::Dataset dataset_;
  std::vector<write::Source> sources_;
  std::filesystem::path folder_;
  IdxOptions options_;
  const std::vector<SampleBox>* boxes_ = nullptr;
  std::vector<BoxShape> planned_;  ///< boxes that the plan is for
  BlockPlan plan_;
  CellShapes shapes_;
  std::vector<Bytes> encoded_;                            ///< a cell's samples, by field of a group
  std::vector<Bytes> out_;                                ///< messages, by peer
  std::vector<ByteSpan> in_;                              ///< the same; kept by the host
  Blocks assembled_;                                      ///< of several cells' or peers' parts
  Blocks kept_;                                           ///< compressed
  std::map<std::pair<size_t, int64_t>, int64_t> placed_;  ///< where these go
  std::map<int64_t, idx::File> files_;
  std::map<int64_t, std::vector<idx::Entry>> entries_;  ///< of own files with compressed blocks
  std::optional<OpenFiles> open_;
  std::optional<Batch> batch_;
  FileWriters writers_;
  std::optional<WriteRounds> rounds_;  ///< if few peers write for all
  IdxCost cost_;
  int64_t step_ = 0;
};

}  // namespace pillion::stages::write_idx

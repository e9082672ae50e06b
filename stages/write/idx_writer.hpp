// SPDX-License-Identifier: BSD-3-Clause
// Writes publications as steps of an IDX dataset, on all peers together. The dataset's text, which
// makes a step exist for readers, is written by the caller when all of it is on disk.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <pillion/idx/blocks.hpp>
#include <pillion/stage.hpp>
#include <utility>
#include <vector>

#include "block_plan.hpp"
#include "box.hpp"
#include "files.hpp"
#include "source.hpp"

namespace pillion::stages {

struct IdxOptions {
  bool direct = false;        ///< every run of samples is written by whoever has it
  size_t aggregators = 0;     ///< 0: every peer is one
  bool durable = true;        ///< a step is told of when it is on disk
  int64_t shared_blocks = 1;  ///< of blocks below this number several peers have parts, as a rule
};

/// What a step has cost this peer.
struct IdxCost {
  double plan = 0, exchange = 0, write = 0;  ///< seconds; encoding is part of the last two
  int64_t bytes = 0, sent = 0, files = 0, runs = 0;
};

class IdxWriter {
 public:
  /// `sources` say where each of the dataset's fields comes from. Files lie below `folder`.
  IdxWriter(idx::Dataset dataset, std::vector<Source> sources, std::filesystem::path folder,
            const IdxOptions& options);

  [[nodiscard]] const idx::Dataset& dataset() const { return dataset_; }
  idx::Dataset& dataset() { return dataset_; }
  /// Throws where something could not be written; the next call in which peers meet then throws on
  /// all of them. [peers]
  IdxCost write(const std::vector<SampleBox>& boxes, const stage::Step& step,
                const Exchange& exchange);

 private:
  /// Blocks as they are stored, by field and block.
  using Packed = std::map<std::pair<size_t, int64_t>, Bytes>;

  void make_plan(const std::vector<SampleBox>& boxes, const Exchange& exchange);
  [[nodiscard]] Elements elements(const SampleBox& box, size_t field) const;
  void gather_piece(const Piece& piece, size_t field, std::byte* to);
  [[nodiscard]] std::vector<Bytes> exchange_field(size_t field, const Exchange& exchange);
  /// Puts each block that is this peer's to write where room(block) says.
  template <class Room>
  void fill_blocks(size_t field, const std::vector<Bytes>& came, Room&& room);
  void write_direct(size_t field);
  void write_raw(size_t field, const std::vector<Bytes>& came);
  void pack(size_t field, const std::vector<Bytes>& came, Packed& packed);
  /// Agrees on where compressed blocks lie. [peers]
  void place(const Packed& packed, const stage::Step& step);
  void write_packed(const Packed& packed);
  void write_heads(const Exchange& exchange);
  const idx::File& file(int64_t number);
  [[nodiscard]] std::filesystem::path path_of(int64_t file_number) const;
  [[nodiscard]] int64_t file_count() const;
  [[nodiscard]] size_t block_bytes(size_t field) const;
  [[nodiscard]] int64_t offset_of(size_t field, int64_t block);

  idx::Dataset dataset_;
  std::vector<Source> sources_;
  std::filesystem::path folder_;
  IdxOptions options_;
  const std::vector<SampleBox>* boxes_ = nullptr;
  std::vector<std::pair<idx::Point, idx::Point>> planned_;  ///< boxes that the plan is for
  BlockPlan plan_;
  CellOffsets offsets_;
  std::map<int64_t, idx::File> files_;
  std::map<int64_t, std::vector<idx::Entry>> entries_;  ///< of files with compressed blocks
  std::optional<OpenFiles> open_;
  IdxCost cost_;
  int64_t step_ = 0;
};

}  // namespace pillion::stages

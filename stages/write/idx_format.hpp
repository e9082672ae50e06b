// SPDX-License-Identifier: BSD-3-Clause
// The format `idx`: multiresolution, readable coarse levels first. Chooses what the user has not:
// boxes, bitmask, sizes of blocks and files; and keeps a table of what each step has cost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "block_compression.hpp"
#include "dataset_format.hpp"
#include "fields.hpp"
#include "idx_writer.hpp"
#include "region.hpp"
#include "sample_boxes.hpp"

namespace pillion::stages {

class IdxFormat final : public DatasetFormat {
 public:
  explicit IdxFormat(stage::Setup& setup);

  void write(stage::Step& step) override;
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  void read_numbers(const stage::Setup& setup);
  void read_box(const stage::Value& box);
  /// What is a field of the dataset: fields of the simulation, or components of those that readers
  /// could not take in one.
  void list_sources(const BlockCompression& compression);
  [[nodiscard]] stage::Input input() const;
  [[nodiscard]] std::array<int, 3> sides_of(const stage::Step& step,
                                            const std::vector<SampleBox>& boxes) const;
  [[nodiscard]] idx::Dataset dataset_for(const std::array<int, 3>& sides, int64_t peers) const;
  void begin(const stage::Step& step, const std::vector<SampleBox>& boxes);
  /// Takes up what is on disk already; false if there is nothing to go on with. [peers]
  [[nodiscard]] bool go_on(const stage::Step& step, idx::Dataset& dataset);
  void check_restored() const;
  /// Writes the dataset's text. [peers]
  void tell(const stage::Step& step, const idx::Dataset& dataset) const;
  void make_whole(std::vector<SampleBox>& boxes) const;
  void note(const stage::Step& step, IdxCost cost);
  [[nodiscard]] stage::Table table() const;
  void add_boxes(stage::Table& table) const;

  WrittenFields fields_;
  std::string name_;
  Region region_;  ///< that is written
  int phases_ = 3;
  pillion_side side_ = PILLION_SIDE_FIT;  ///< unless sides are given
  bool is_given_ = false;
  std::array<int, 3> given_sides_{};
  int64_t bits_per_block_ = 0, blocks_per_file_ = 0;  ///< 0: to be chosen
  int left_out_ = 0;
  IdxOptions options_;
  std::vector<idx::Field> dataset_fields_;
  std::vector<Source> sources_;
  std::string split_;  ///< fields whose components are apart
  int32_t input_ = 0;

  std::unique_ptr<IdxWriter> writer_;
  bool is_resumed_ = false;
  std::string restored_;        ///< text of the dataset that is gone on with, if it had begun
  std::array<int, 3> sides_{};  ///< of boxes, as the bitmask has them
  size_t aggregators_ = 0;
  struct Row {
    int64_t step = 0;
    std::array<double, 4> times{};    ///< plan, encode, exchange, write: of the slowest peer
    std::array<int64_t, 4> counts{};  ///< bytes, sent, files, runs: of all
  };
  std::vector<Row> rows_;
  int64_t coarse_ = 0;  ///< publications that were not whole, and so not written
};

}  // namespace pillion::stages

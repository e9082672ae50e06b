// SPDX-License-Identifier: BSD-3-Clause
// Writes one step. HDF5 is used by one peer for each file, and no call of it needs another peer, so
// that a peer that fails delays no other. Without compression it only makes the file, whose values
// have known places, and every peer puts its own there; compressed chunks have places only when
// they are written, and go through it a few at a time.
#pragma once

#include <array>
#include <filesystem>
#include <list>
#include <memory>
#include <pillion/stage.hpp>
#include <vector>

#include "../../common/files.hpp"
#include "../../common/messages.hpp"
#include "chunks.hpp"
#include "compression.hpp"
#include "file.hpp"

namespace pillion::stages::write_hdf5 {

struct Hdf5Cost {
  std::array<double, 2> seconds{};  ///< compressing, and all else
  std::array<int64_t, 3> counts{};  ///< bytes on disk, bytes of fields, files
};

class Hdf5Writer {
 public:
  Hdf5Writer(const Compression& compression, bool durable, int64_t at_once)
      : compression_(compression), durable_(durable), at_once_(at_once) {}

  [[nodiscard]] bool is_durable() const { return durable_; }
  /// Throws on every peer if one has failed, and then there is no file. [peers]
  Hdf5Cost write(const stage::Step& step, const write::WrittenFields& fields,
                 const Chunking& chunking, std::vector<StoredBlock> blocks, const StepText& text,
                 const std::filesystem::path& path);

 private:
  struct Job;
  void make_files(Job& job);
  void fill(Job& job, const std::vector<StoredBlock>& blocks);
  void write_filtered(Job& job, const std::vector<StoredBlock>& blocks);
  void show_parts(Job& job);

  const Compression& compression_;
  bool durable_;
  int64_t at_once_;
};

/// Path of a step's file below the folder of products.
std::string step_path(const std::string& name, int64_t step);
std::string dataset_title(const write::WrittenFields& fields);

}  // namespace pillion::stages::write_hdf5

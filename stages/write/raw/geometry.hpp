// SPDX-License-Identifier: BSD-3-Clause
// Points and cells of blocks in files of their own. The file of a step has what has changed; for
// all others the index names the file of an earlier step, so that a mesh that stays is written
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../../common/files.hpp"

namespace pillion::stages::write_raw {

/// What one peer has written of a mesh with points. What it knows of files is not saved: a run that
/// resumes writes all points and cells again, so no step refers to files of steps that were taken
/// back.
class GeometryFiles {
 public:
  /// Before the blocks of a step: where their file will be, below the folder of products.
  void begin(const std::filesystem::path& products, const std::string& path);
  /// Writes the points and cells of a block unless a file has them.
  void add(const stage::Block& block, int32_t axes);
  /// After the last block: the file gets its name, if there is one. Blocks that were not added
  /// since `begin` are forgotten. Returns the bytes that were written.
  int64_t finish(bool durable);

  /// An entry for each block that was added, with `points` and, of an unstructured mesh, `cells`.
  [[nodiscard]] const std::string& entries() const { return entries_; }
  /// Whether they differ from the entries of the last index.
  [[nodiscard]] bool have_changed() const { return entries_ != in_index_; }
  /// After the entries are in an index.
  void keep_entries() { in_index_ = entries_; }

 private:
  /// Points or cells of a block as they were written.
  struct Part {
    int64_t version = 0;
    size_t digest = 0;  ///< of what has no version
    std::string entry;
  };
  struct Parts {
    Part points, cells;
  };
  /// An array of a block, the last index fastest.
  struct Column {
    std::string name;
    pillion_type type;
    std::vector<int64_t> shape;
    std::span<const std::byte> bytes;
  };

  static bool is_same(const Part& now, const Part* before) {
    return before != nullptr && before->version == now.version && before->digest == now.digest;
  }
  Part points_of(const stage::Block& block, int32_t axes, const Part* before);
  Part cells_of(const stage::Block& block, const Part* before);
  std::string write(const std::vector<Column>& columns);

  std::string path_, entries_, in_index_;
  std::filesystem::path whole_path_;
  std::optional<UnfinishedFile> file_;  ///< there is none before something is written
  std::optional<OpenFiles> open_;
  int64_t bytes_ = 0;
  std::map<int64_t, Parts> known_;  ///< by block
  std::map<int64_t, Parts> next_;   ///< of this step, whose file has no name yet
};

}  // namespace pillion::stages::write_raw

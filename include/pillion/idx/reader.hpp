// SPDX-License-Identifier: BSD-3-Clause
// Reading IDX datasets: any field at any step, any box of it at any level of resolution, coarse
// levels first if one likes. Only blocks that hold what is asked for are touched, so that many
// processes can each read a part of their own.
#pragma once

#include <cstddef>
#include <pillion/idx/blocks.hpp>
#include <span>
#include <string>
#include <vector>

namespace pillion::idx {

/// What is read of a dataset: samples of the box [lo, hi).
struct Query {
  size_t field = 0;
  int64_t step = 0;
  Point lo{}, hi{};
};

/// A dataset as its text describes it when it is opened; later steps need a new one. Nothing is
/// kept open, and threads may share it. A file that is missing, or a block that a file's head
/// does not name, is read as the field's fill value. A block that is shorter than its head claims
/// is an error.
class Reader {
 public:
  /// `path` is that of the .idx file. Throws pillion::Error if it cannot be read.
  explicit Reader(const std::string& path);
  /// The same with the text of that file, for callers that have read it already.
  Reader(std::string path, const std::string& text);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Dataset& dataset() const { return dataset_; }
  /// In increasing order; 0 alone if the text says none.
  [[nodiscard]] const std::vector<int64_t>& steps() const { return dataset_.times.steps; }
  /// Throws pillion::Error, with the names that there are, if there is no such field.
  [[nodiscard]] size_t field_named(const std::string& name) const;

  /// Where the samples of all levels up to this one are; extents are 0 if there are none. Throws
  /// pillion::Error if field, step, level or box are not in the dataset.
  [[nodiscard]] Grid grid(const Query& query, int level) const;
  /// Reads them, the first axis fastest and components interleaved; `to` has room for the samples
  /// of the grid. Returns the number of bytes read from files. Throws pillion::Error.
  int64_t read(const Query& query, int level, std::byte* to) const;
  /// As above, but only samples of levels above `after`; others in `to` stay as they are.
  int64_t read_after(const Query& query, int after, int level, std::byte* to) const;
  /// As above into an array of any arrangement: `strides` are the bytes from one sample to the next
  /// along each axis. The components of a sample lie together.
  int64_t read_after(const Query& query, int after, int level, std::byte* to,
                     const Point& strides) const;

  /// Looks at the heads of all files of a field at a step. Throws pillion::Error if a block that
  /// has samples in the dataset's box is missing, cut short, or of a codec that is not read.
  void expect_whole(size_t field, int64_t step) const;

 private:
  /// Throws pillion::Error, naming the dataset.
  [[noreturn]] void fail(const std::string& why) const;
  void expect_inside(const Query& query) const;
  /// Of the file that a block is in.
  [[nodiscard]] std::string path_of(int64_t block, int64_t step) const;

  std::string path_;
  Dataset dataset_;
};

/// One box of one field at one step, finer and finer. Each sample is read once, as far as blocks
/// are not shared by levels. The reader must outlive it.
class Refinement {
 public:
  Refinement(const Reader& reader, const Query& query) : reader_(reader), query_(query) {}

  /// Adds the samples of all levels up to this one, which must not be below the one before. Throws
  /// pillion::Error; what was there before then is still there.
  void refine(int level);
  [[nodiscard]] int level() const { return level_; }  ///< -1: nothing yet
  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] std::span<const std::byte> values() const { return values_; }
  [[nodiscard]] int64_t bytes_read() const { return bytes_read_; }

 private:
  const Reader& reader_;
  Query query_;
  int level_ = -1;
  Grid grid_{.origin = {}, .extent = {0, 0, 0}, .stride = {1, 1, 1}};
  std::vector<std::byte> values_;
  int64_t bytes_read_ = 0;
};

}  // namespace pillion::idx

// SPDX-License-Identifier: BSD-3-Clause
// Reads a dataset file by file.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <pillion/error.hpp>
#include <pillion/idx/reader.hpp>
#include <sstream>

#include "block_file.hpp"
#include "selection.hpp"

namespace pillion::idx {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path))
    throw Error(ErrorCode::File, "cannot read the dataset " + path + ": " + std::strerror(errno));
  return text.str();
}

std::string words(const Point& point) {
  return "(" + std::to_string(point[0]) + ", " + std::to_string(point[1]) + ", " +
         std::to_string(point[2]) + ")";
}

/// Those of one file together. The blocks must outlive what is returned.
std::vector<std::span<const BlockOfLevel>> by_file(const Dataset& dataset,
                                                   const std::vector<BlockOfLevel>& blocks) {
  std::vector<std::span<const BlockOfLevel>> out;
  for (size_t from = 0, end = 0; from < blocks.size(); from = end) {
    const int64_t file = dataset.file_of(blocks[from].number);
    while (end < blocks.size() && dataset.file_of(blocks[end].number) == file) ++end;
    out.push_back(std::span(blocks).subspan(from, end - from));
  }
  return out;
}

// Putting blocks of one query into an array, one after the other.

/// The array `to` has `strides` in bytes. What this is made of must outlive it.
class Gathering {
 public:
  Gathering(const Dataset& dataset, const Query& query, const Grid& grid, std::byte* to,
            const Point& strides)
      : dataset_(dataset), query_(query), grid_(grid), to_(to), strides_(strides) {}

  /// Blocks of one file, which may not be there. Throws pillion::Error.
  void take(const BlockFile* file, std::span<const BlockOfLevel> blocks);
  /// That were read from files.
  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  void take(const BlockFile* file, const BlockOfLevel& block, const Entry& entry);
  const Order& hz_order(int level);

  const Dataset& dataset_;
  const Query& query_;
  const Grid& grid_;
  std::byte* to_;
  Point strides_;
  std::vector<std::byte> samples_;
  std::map<int, Order> orders_;  ///< by level
  int64_t bytes_ = 0;
};

void Gathering::take(const BlockFile* file, std::span<const BlockOfLevel> blocks) {
  std::vector<Entry> entries(blocks.size());
  if (file != nullptr) entries = file->entries(query_.field, blocks);
  for (size_t n = 0; n < blocks.size(); ++n) take(file, blocks[n], entries[n]);
}

void Gathering::take(const BlockFile* file, const BlockOfLevel& block, const Entry& entry) {
  const auto& field = dataset_.fields[query_.field];
  const Grid grid = grid_of(dataset_, block.number);
  if (is_absent(entry)) {
    samples_.assign(static_cast<size_t>(dataset_.block_samples()) * field.sample_size(),
                    static_cast<std::byte>(field.fill));
  } else {
    file->read(entry, query_.field, block.number, samples_);
    bytes_ += entry.size;
  }
  const bool is_in_rows = is_absent(entry) || entry.row_major();
  copy_common(grid, is_in_rows ? in_rows(grid.extent) : hz_order(block.level), samples_.data(),
              grid_, strides_, to_, field.sample_size());
}

const Order& Gathering::hz_order(int level) {
  const auto [at, is_new] = orders_.try_emplace(level);
  if (is_new) at->second = in_block(dataset_, level);
  return at->second;
}

/// An error of a file of blocks names the dataset too, whose template of names may be wrong.
template <class F>
void of_dataset(const std::string& path, F&& body) {
  try {
    body();
  } catch (const Error& problem) {
    throw Error(problem.code(), "cannot read the dataset " + path + ": " + problem.what());
  }
}

}  // namespace

Reader::Reader(const std::string& path) : Reader(path, read_text(path)) {}

Reader::Reader(std::string path, const std::string& text)
    : path_(std::move(path)), dataset_(Dataset::parse(text, path_)) {
  if (dataset_.times.steps.empty()) dataset_.times.steps = {0};
  for (const auto& field : dataset_.fields)
    if (field.sample_size() > (size_t{1} << 31) >> dataset_.bits_per_block)
      fail("blocks of field '" + field.name + "' have more than 2 GiB, which are not read");
}

void Reader::fail(const std::string& why) const {
  throw Error(ErrorCode::File, "cannot read the dataset " + path_ + ": " + why);
}

size_t Reader::field_named(const std::string& name) const {
  std::string known;
  for (size_t f = 0; f < dataset_.fields.size(); ++f) {
    if (dataset_.fields[f].name == name) return f;
    known += (f > 0 ? ", " : "") + dataset_.fields[f].name;
  }
  fail("it has no field '" + name + "'; it has " + known);
}

void Reader::expect_inside(const Query& query) const {
  if (query.field >= dataset_.fields.size())
    fail("it has no field number " + std::to_string(query.field));
  const auto& steps = dataset_.times.steps;
  if (!std::binary_search(steps.begin(), steps.end(), query.step))
    fail("it has no step " + std::to_string(query.step) + "; it has " +
         std::to_string(steps.size()) + ", from " + std::to_string(steps.front()) + " to " +
         std::to_string(steps.back()));
  for (size_t a = 0; a < 3; ++a)
    if (query.lo[a] < dataset_.lo[a] || query.hi[a] < query.lo[a] || query.hi[a] > dataset_.hi[a])
      fail("the box from " + words(query.lo) + " to " + words(query.hi) +
           " is not in its own, from " + words(dataset_.lo) + " to " + words(dataset_.hi));
}

Grid Reader::grid(const Query& query, int level) const {
  expect_inside(query);
  if (level < 0 || level > dataset_.finest())
    fail("it has the levels 0 to " + std::to_string(dataset_.finest()) + "; " +
         std::to_string(level) + " is not there");
  return grid_within(query.lo, query.hi, dataset_.mask.stride(level), {});
}

std::string Reader::path_of(int64_t block, int64_t step) const {
  const auto name = file_name(dataset_, dataset_.file_of(block) * dataset_.blocks_per_file, step);
  if (!name.starts_with("./")) return name;
  return (std::filesystem::path(path_).parent_path() / name.substr(2)).string();
}

int64_t Reader::read(const Query& query, int level, std::byte* to) const {
  return read_after(query, -1, level, to);
}

int64_t Reader::read_after(const Query& query, int after, int level, std::byte* to) const {
  const auto size = dataset_.fields.at(query.field).sample_size();
  return read_after(query, after, level, to, strides_in_rows(grid(query, level).extent, size));
}

int64_t Reader::read_after(const Query& query, int after, int level, std::byte* to,
                           const Point& strides) const {
  const Grid wanted = grid(query, level);
  if (wanted.samples() == 0) return 0;
  Gathering gathering(dataset_, query, wanted, to, strides);
  const auto all = blocks_in(dataset_, after, level, query.lo, query.hi);
  for (const auto& blocks : by_file(dataset_, all)) {
    const auto path = path_of(blocks.front().number, query.step);
    of_dataset(path_, [&] { gathering.take(BlockFile::open(path, dataset_).get(), blocks); });
  }
  return gathering.bytes();
}

void Reader::expect_whole(size_t field, int64_t step) const {
  const Query query{field, step, dataset_.lo, dataset_.hi};
  expect_inside(query);
  const auto all = blocks_in(dataset_, -1, dataset_.finest(), query.lo, query.hi);
  for (const auto& blocks : by_file(dataset_, all)) {
    const auto path = path_of(blocks.front().number, step);
    const auto file = BlockFile::open(path, dataset_);
    if (!file) fail("step " + std::to_string(step) + " is not whole: there is no " + path);
    const auto entries = file->entries(field, blocks);
    for (size_t n = 0; n < blocks.size(); ++n)
      file->expect_readable(entries[n], field, blocks[n].number);
  }
}

void Refinement::refine(int level) {
  const Grid finer = reader_.grid(query_, level);
  if (level < level_)
    throw Error(ErrorCode::Argument, "level " + std::to_string(level_) +
                                         " is there already; it cannot be refined to " +
                                         std::to_string(level));
  const size_t size = reader_.dataset().fields[query_.field].sample_size();
  std::vector<std::byte> values(static_cast<size_t>(finer.samples()) * size);
  if (grid_.samples() > 0)
    copy_common(grid_, in_rows(grid_.extent), values_.data(), finer,
                strides_in_rows(finer.extent, size), values.data(), size);
  bytes_read_ += reader_.read_after(query_, level_, level, values.data());
  values_ = std::move(values);
  grid_ = finer;
  level_ = level;
}

}  // namespace pillion::idx

// SPDX-License-Identifier: BSD-3-Clause
// Rows are added as comments, and then made rows one after the other by their first byte. A write
// of one byte is there or not; a longer one may be seen, or be left by a killed process, in part.
#include "products/growing_table.hpp"

#include <fcntl.h>
#include <pillion/stage.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace pillion::products {

bool is_growing(const pillion_table& table) { return table.per_step == 2; }

pillion_table rows_from(const pillion_table& table, int64_t from,
                        std::vector<pillion_column>& columns) {
  columns.assign(table.columns, table.columns + table.column_count);
  for (auto& column : columns) {
    if (column.reals != nullptr) column.reals += from;
    if (column.integers != nullptr) column.integers += from;
  }
  pillion_table out = table;
  out.columns = columns.data();
  out.rows = table.rows - from;
  return out;
}

GrowingFile::GrowingFile(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)) {
  struct stat status {};
  if (file_ >= 0 && ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) size_ = status.st_size;
}

GrowingFile::~GrowingFile() {
  if (file_ >= 0) ::close(file_);
}

void GrowingFile::fail(int error) const {
  base::fail(ErrorCode::File, "cannot write '{}': {}", path_.string(), std::strerror(error));
}

/// Less than `size` bytes if it cannot be read, and then the table is written whole.
std::string GrowingFile::read(size_t size, int64_t offset) const {
  std::string out(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(file_, out.data() + done, size - done, offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  out.resize(done);
  return out;
}

void GrowingFile::write(std::string_view content, int64_t offset) const {
  while (!content.empty()) {
    const ssize_t n = ::pwrite(file_, content.data(), content.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    content.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
}

std::optional<int64_t> GrowingFile::rows_below(std::string_view head, std::string_view blank) {
  constexpr std::string_view key = "\n# rows: ";
  if (size_ < static_cast<int64_t>(head.size()) || head.size() != blank.size()) return {};
  head_ = read(head.size(), 0);
  if (head_.size() != head.size()) return {};
  for (size_t i = 0; i < head.size(); ++i)
    if (blank[i] != blank_number && head_[i] != head[i]) return {};
  const size_t at = head_.find(key);
  if (at == std::string::npos) return {};
  return std::strtoll(head_.c_str() + at + key.size(), nullptr, 10);
}

bool GrowingFile::ends_with(std::string_view row) const {
  const auto length = static_cast<int64_t>(row.size());
  if (size_ < static_cast<int64_t>(head_.size()) + length) return false;
  // The end of the line before is there, too, if it is only that of the names of the columns.
  return read(row.size() + 1, size_ - length - 1) == "\n" + std::string(row);
}

void GrowingFile::add(std::string_view rows, std::string_view head) {
  std::string hidden(rows);
  std::vector<size_t> starts;
  for (size_t at = 0; at < rows.size();) {
    starts.push_back(at);
    hidden[at] = '#';
    const size_t end = rows.find('\n', at);
    at = end == std::string_view::npos ? rows.size() : end + 1;
  }
  try {
    write(hidden, size_);
  } catch (const Error&) {
    // What cannot be cut off is a comment to every reader.
    [[maybe_unused]] const int ignored = ::ftruncate(file_, size_);
    throw;
  }
  for (const size_t at : starts) write(rows.substr(at, 1), size_ + static_cast<int64_t>(at));
  const auto [was, is] = std::mismatch(head_.begin(), head_.end(), head.begin());
  if (was != head_.end()) {
    const auto from = static_cast<size_t>(is - head.begin());
    size_t to = head.size();
    while (to > from && head[to - 1] == head_[to - 1]) --to;
    write(head.substr(from, to - from), static_cast<int64_t>(from));
  }
  // Some file systems report only here what they could not write.
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);
}

}  // namespace pillion::products

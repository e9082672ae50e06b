// SPDX-License-Identifier: BSD-3-Clause
// Files of tables to which publications add rows. What that takes does not grow with the table. A
// reader finds whole rows at any time, and so does one who comes after the process was killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "products/table.hpp"

struct pillion_column;

namespace pillion::products {

/// Whether every writing has the rows of the one before, so that only those behind them are added.
bool is_growing(const pillion_table& table);
/// The head of such a table with `blank_number` for each character of its numbers.
std::string format_blank_head(const pillion_table& table, const Origin& origin);
constexpr char blank_number = '\1';
/// The table without the rows before one of them, with columns that are in `columns`.
pillion_table rows_from(const pillion_table& table, int64_t from,
                        std::vector<pillion_column>& columns);

/// The file of a growing table while rows are added. Nothing is known of it but what is in it.
class GrowingFile {
 public:
  /// A symbolic link is not followed. Throws nothing; without a file there are no rows.
  explicit GrowingFile(const std::filesystem::path& path);
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile();

  /// How many rows the head in the file says that there are; nothing if the head differs from this
  /// one in more than its numbers, which are blank in `blank`.
  [[nodiscard]] std::optional<int64_t> rows_below(std::string_view head, std::string_view blank);
  /// Whether this row is the last one in the file, and nothing is behind it.
  [[nodiscard]] bool ends_with(std::string_view row) const;
  /// Adds rows, each with its end, and puts the head in place of the one that rows_below() found.
  /// Throws ErrorCode::File if the disk is full, for example; then no row is there in part.
  void add(std::string_view rows, std::string_view head);

 private:
  [[nodiscard]] std::string read(size_t size, int64_t offset) const;
  void write(std::string_view content, int64_t offset) const;
  [[noreturn]] void fail(int error) const;

  const std::filesystem::path path_;
  int file_;
  int64_t size_ = 0;
  std::string head_;  ///< that is in the file
};

}  // namespace pillion::products

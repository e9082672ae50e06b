// SPDX-License-Identifier: BSD-3-Clause
// Of a table in parts the first peer makes the file aside, each peer writes its rows behind those
// of the peers before it, and the first one gives the file its name when all have written.
#include "stagehost/table_writing.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "comm/agreement.hpp"
#include "products/growing_table.hpp"
#include "products/table.hpp"
#include "products/whole_file.hpp"
#include "stagehost/scalar_series.hpp"
#include "stagehost/sink.hpp"

namespace pillion::stagehost {

namespace {

/// The rows of a table from one on, with columns for the scalars of the run.
class LastRows {
 public:
  LastRows(const pillion_table& table, int64_t from, const ExecutionContext& context)
      : whole_(products::rows_from(table, from, columns_), context.scalars,
               context.origin.scalars) {}
  [[nodiscard]] const pillion_table& table() const { return whole_.table(); }

 private:
  std::vector<pillion_column> columns_;
  TableWithScalars whole_;
};

/// Whether the product is that of another stage of the analysis, or not listed yet.
bool is_strange(const pillion_table& table, const ExecutionContext& context) {
  const auto& origin = context.origin;
  const auto path = products::table_path(table, origin);
  const auto& all = context.sink->products();
  return std::none_of(all.begin(), all.end(), [&](const Product& product) {
    return product.path == path && product.number == origin.number;
  });
}

/// Adds the new rows of a growing table to its file, behind the last one that is there. False, and
/// nothing is changed, if the table must be written whole: columns are others, that row is another,
/// or the file is.
bool add_rows(const pillion_table& table, const ExecutionContext& context) {
  const auto& origin = context.origin;
  if (table.rows < 1 || is_strange(table, context)) return false;
  const LastRows last(table, table.rows - 1, context);
  auto described = last.table();
  described.rows = table.rows;
  const auto head = products::format_head(described, origin);
  products::GrowingFile file(context.sink->path_of(table, origin));
  const auto known = file.rows_below(head, products::format_blank_head(described, origin));
  if (!known || *known < 1 || *known > table.rows) return false;
  const LastRows added(table, *known - 1, context);
  const auto rows = products::format_rows(added.table());
  const size_t first = rows.find('\n') + 1;
  if (!file.ends_with(std::string_view(rows).substr(0, first))) return false;
  file.add(std::string_view(rows).substr(first), head);
  return true;
}

/// How many values were not finite, by the attribute of a table or by its last rows.
int64_t not_finite_in(const pillion_table& table) {
  constexpr std::string_view name = "not_finite";
  constexpr int64_t longest = 1000;
  int64_t most = 0;
  for (int32_t a = 0; a < table.attribute_count; ++a) {
    const auto& of = table.attributes[a];
    if (of.name == name && of.text == nullptr && of.value > 0 && of.value < 1e18)
      most = std::max(most, static_cast<int64_t>(of.value));
  }
  for (int32_t c = 0; c < table.column_count; ++c) {
    const auto& column = table.columns[c];
    if (column.integers == nullptr || !std::string_view(column.name).starts_with(name)) continue;
    for (int64_t row = std::max<int64_t>(0, table.rows - longest); row < table.rows; ++row)
      most = std::max(most, column.integers[row]);
  }
  return most;
}

/// Reports once for a product that values were not finite: its counts are easily overlooked.
void note_not_finite(const pillion_table& table, const ExecutionContext& context) {
  const int64_t count = not_finite_in(table);
  if (count == 0) return;
  const auto& origin = context.origin;
  context.sink->note(
      origin.analysis + "/" + table.name,
      fmt::format("analysis '{}': {} values were not finite numbers in table '{}' by step {}; its "
                  "`not_finite` counts them (said once for each table)",
                  origin.analysis, count, table.name, origin.step));
}

}  // namespace

void write_table(const pillion_table& table, const ExecutionContext& context) {
  if (context.peers->rank() == 0) note_not_finite(table, context);
  if (table.in_parts != 0) return write_in_parts(table, context);
  if (context.peers->rank() != 0) return;
  if (products::is_growing(table) && add_rows(table, context)) return;
  const TableWithScalars whole(table, context.scalars, context.origin.scalars);
  context.sink->write(whole.table(), context.origin);
}

void write_in_parts(const pillion_table& table, const ExecutionContext& context) {
  const auto& peers = *context.peers;
  auto& fence = *context.fence;
  const bool is_first = peers.rank() == 0;
  std::string content = is_first ? products::format_head(table, context.origin) : "";
  content += products::format_rows(table);
  fence.before_collective();
  std::array<int64_t, 2> most{table.column_count, -table.column_count};
  peers.reduce(most.data(), 2, comm::Operation::Max);
  if (most[0] != -most[1])
    base::fail(ErrorCode::Stage, "peers write table '{}' with {} to {} columns", table.name,
               -most[1], most[0]);
  const int64_t offset = peers.sum_below(static_cast<int64_t>(content.size()));
  // Removed if a peer fails before the end.
  std::unique_ptr<products::WholeFile> file;
  if (is_first) file = context.sink->begin(table, context.origin);
  fence.before_collective();  // behind this fence the file is there for all peers
  if (!content.empty())
    products::write_part(context.sink->path_of(table, context.origin), content, offset);
  fence.before_collective();  // behind this one all parts are in it
  if (is_first) context.sink->finish(*file, table, context.origin);
}

}  // namespace pillion::stagehost

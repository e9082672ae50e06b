// SPDX-License-Identifier: BSD-3-Clause
// The first peer makes the file aside, each peer writes its rows behind those of the peers before
// it, and the first one gives the file its name when all have written.
#include "stagehost/table_in_parts.hpp"

#include <array>
#include <memory>

#include "comm/agreement.hpp"
#include "products/table.hpp"
#include "products/whole_file.hpp"
#include "stagehost/sink.hpp"

namespace pillion::stagehost {

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

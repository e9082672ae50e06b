// SPDX-License-Identifier: BSD-3-Clause
// Writing products and remembering them.
#include "stagehost/sink.hpp"

#include <algorithm>

#include "products/whole_file.hpp"

namespace pillion::stagehost {

void Sink::write(const pillion_table& table, const products::Origin& origin) {
  const std::string path = products::table_path(table, origin);
  products::write_whole(folder_ / path, products::format_table(table, origin), false);
  const Product product{origin.analysis, origin.stage, path, table.title};
  const std::string name = origin.analysis + "/" + table.name + ".";
  const auto same = [&](const Product& p) { return p.path.starts_with(name); };
  const auto at = std::find_if(products_.begin(), products_.end(), same);
  if (at != products_.end()) *at = product;
  else products_.push_back(product);
}

}  // namespace pillion::stagehost

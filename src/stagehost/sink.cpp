// SPDX-License-Identifier: BSD-3-Clause
// Writing products and remembering them.
#include "stagehost/sink.hpp"

#include <algorithm>

#include "products/whole_file.hpp"

namespace pillion::stagehost {

void Sink::write(const pillion_table& table, const products::Origin& origin) {
  const std::string path = products::table_path(table, origin);
  products::write_whole(folder_ / path, products::format_table(table, origin), false);
  remember({origin.analysis, origin.stage, path, table.title},
           origin.analysis + "/" + table.name + ".");
}

void Sink::write_text(const Text& text, const products::Origin& origin) {
  products::check_name(text.name);
  const std::string path = origin.analysis + "/" + text.name;
  const auto head = text.comment == nullptr
                        ? ""
                        : products::format_origin(text.title, text.name, origin, text.comment);
  products::write_whole(folder_ / path, head + text.content, text.durable);
  remember({origin.analysis, origin.stage, path, text.title}, path);
}

std::filesystem::path Sink::folder_of(const std::string& analysis) const {
  const auto folder = std::filesystem::absolute(folder_ / analysis);
  products::make_folder(folder);
  return folder;
}

void Sink::remember(const Product& product, const std::string& beginning) {
  const auto same = [&](const Product& p) { return p.path.starts_with(beginning); };
  const auto at = std::find_if(products_.begin(), products_.end(), same);
  if (at != products_.end()) *at = product;
  else products_.push_back(product);
}

}  // namespace pillion::stagehost

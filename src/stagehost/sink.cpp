// SPDX-License-Identifier: BSD-3-Clause
// Writing products, and listing them.
#include "stagehost/sink.hpp"

#include <fmt/format.h>
#include <pillion/stage.h>

#include <algorithm>
#include <iterator>

#include "products/table.hpp"
#include "products/whole_file.hpp"

namespace pillion::stagehost {

namespace {

std::string name_of(const pillion_table& table, const products::Origin& origin) {
  return origin.analysis + "/" + table.name + ".csv";
}

}  // namespace

void Sink::write(const pillion_table& table, const products::Origin& origin) {
  const std::string content = products::format_table(table, origin);
  const auto file = begin(table, origin);
  file->write(content);
  finish(*file, table, origin);
}

std::unique_ptr<products::WholeFile> Sink::begin(const pillion_table& table,
                                                 const products::Origin& origin) const {
  expect_own(name_of(table, origin), origin);
  return std::make_unique<products::WholeFile>(path_of(table, origin));
}

void Sink::finish(products::WholeFile& file, const pillion_table& table,
                  const products::Origin& origin) {
  file.finish(false);
  add({origin.analysis, origin.stage, name_of(table, origin), products::table_path(table, origin),
       table.title, origin.number});
}

std::filesystem::path Sink::path_of(const pillion_table& table,
                                    const products::Origin& origin) const {
  return folder_ / products::table_path(table, origin);
}

void Sink::write_text(const Text& text, const products::Origin& origin) {
  products::check_name(text.name);
  const std::string path = origin.analysis + "/" + text.name;
  expect_own(path, origin);
  const auto head = text.comment == nullptr
                        ? ""
                        : products::format_origin(text.title, text.name, origin, text.comment);
  products::write_whole(folder_ / path, head + text.content, text.durable);
  add({origin.analysis, origin.stage, path, path, text.title, origin.number});
}

void Sink::write_file(const File& file, const products::Origin& origin) {
  products::check_name(file.name);
  expect_own(origin.analysis + "/" + file.name, origin);
  const std::filesystem::path name = file.name;
  const std::string numbered =
      fmt::format("{}.{:09}{}", name.stem().string(), origin.step, name.extension().string());
  const std::string path = origin.analysis + "/" + (file.per_step ? numbered : file.name);
  products::write_whole(folder_ / path, file.content, false);
  add({origin.analysis, origin.stage, origin.analysis + "/" + file.name, path, file.title,
       origin.number});
}

std::filesystem::path Sink::folder_of(const std::string& analysis) const {
  const auto folder = std::filesystem::absolute(folder_ / analysis);
  products::make_folder(folder);
  return folder;
}

std::vector<Product> Sink::products_of(const std::string& analysis) const {
  std::vector<Product> found;
  std::copy_if(products_.begin(), products_.end(), std::back_inserter(found),
               [&](const Product& p) { return p.analysis == analysis; });
  return found;
}

void Sink::remove(const std::string& analysis) {
  std::erase_if(products_, [&](const Product& p) { return p.analysis == analysis; });
}

void Sink::expect_own(const std::string& name, const products::Origin& origin) const {
  const auto known = std::find_if(products_.begin(), products_.end(),
                                  [&](const Product& p) { return p.name == name; });
  if (known == products_.end() || known->number == origin.number) return;
  base::fail(ErrorCode::Stage,
             "the product '{}' of stage {} ('{}') would overwrite that of stage {} ('{}') of the "
             "same analysis; give them different names, or put one of them in another analysis",
             name, origin.number + 1, origin.stage, known->number + 1, known->stage);
}

void Sink::note(const std::string& product, const std::string& sentence) {
  if (noted_.insert(product).second) notes_.push_back(sentence);
}

void Sink::add(const Product& product) {
  const auto known = std::find_if(products_.begin(), products_.end(),
                                  [&](const Product& p) { return p.name == product.name; });
  if (known == products_.end()) products_.push_back(product);
  else *known = product;
}

}  // namespace pillion::stagehost

// SPDX-License-Identifier: BSD-3-Clause
// Writing products and remembering them.
#include "stagehost/sink.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "products/whole_file.hpp"

namespace pillion::stagehost {

void Sink::write(const pillion_table& table, const products::Origin& origin) {
  const std::string content = products::format_table(table, origin);
  const std::string name = origin.analysis + "/" + table.name + ".csv";
  expect_own(name, origin);
  const std::string path = products::table_path(table, origin);
  products::write_whole(folder_ / path, content, false);
  record({origin.analysis, origin.stage, path, table.title, origin.number}, name);
}

void Sink::write_text(const Text& text, const products::Origin& origin) {
  products::check_name(text.name);
  const std::string path = origin.analysis + "/" + text.name;
  expect_own(path, origin);
  const auto head = text.comment == nullptr
                        ? ""
                        : products::format_origin(text.title, text.name, origin, text.comment);
  products::write_whole(folder_ / path, head + text.content, text.durable);
  record({origin.analysis, origin.stage, path, text.title, origin.number}, path);
}

void Sink::write_file(const File& file, const products::Origin& origin) {
  products::check_name(file.name);
  expect_own(origin.analysis + "/" + file.name, origin);
  const std::filesystem::path name = file.name;
  const std::string numbered =
      fmt::format("{}.{:09}{}", name.stem().string(), origin.step, name.extension().string());
  const std::string path = origin.analysis + "/" + (file.per_step ? numbered : file.name);
  products::write_whole(folder_ / path, file.content, false);
  record({origin.analysis, origin.stage, path, file.title, origin.number},
         origin.analysis + "/" + file.name);
}

std::filesystem::path Sink::folder_of(const std::string& analysis) const {
  const auto folder = std::filesystem::absolute(folder_ / analysis);
  products::make_folder(folder);
  return folder;
}

base::Bytes Sink::remembered(const std::string& analysis) const {
  base::ByteWriter out;
  out.put(static_cast<int64_t>(std::count_if(
      products_.begin(), products_.end(), [&](const auto& p) { return p.analysis == analysis; })));
  for (size_t p = 0; p < products_.size(); ++p) {
    const auto& product = products_[p];
    if (product.analysis != analysis) continue;
    for (const auto* text : {&product.stage, &product.path, &product.title, &names_[p]})
      out.put(*text);
    out.put(product.number);
  }
  return out.take();
}

void Sink::forget(const std::string& analysis) {
  for (size_t p = products_.size(); p-- > 0;)
    if (products_[p].analysis == analysis) {
      products_.erase(products_.begin() + static_cast<ptrdiff_t>(p));
      names_.erase(names_.begin() + static_cast<ptrdiff_t>(p));
    }
}

void Sink::take_over(const std::string& analysis, base::ByteReader& in) {
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    Product product{.analysis = analysis, .stage = {}, .path = {}, .title = {}};
    for (auto* text : {&product.stage, &product.path, &product.title})
      *text = in.get<std::string>();
    const auto name = in.get<std::string>();
    product.number = in.get<int64_t>();
    record(product, name);
  }
}

void Sink::expect_own(const std::string& name, const products::Origin& origin) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at == names_.end()) return;
  const auto& known = products_[static_cast<size_t>(at - names_.begin())];
  if (known.number != origin.number)
    base::fail(ErrorCode::Stage,
               "the product '{}' of stage {} ('{}') would overwrite that of stage {} ('{}') of the "
               "same analysis; give them different names, or put one of them in another analysis",
               name, origin.number + 1, origin.stage, known.number + 1, known.stage);
}

void Sink::record(const Product& product, const std::string& name) {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at != names_.end()) {
    products_[static_cast<size_t>(at - names_.begin())] = product;
    return;
  }
  products_.push_back(product);
  names_.push_back(name);
}

}  // namespace pillion::stagehost

// SPDX-License-Identifier: BSD-3-Clause
// Where products go: the output folder, and the list of what was left there.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

struct pillion_table;

namespace pillion::products {
class WholeFile;
struct Origin;
}  // namespace pillion::products

namespace pillion::stagehost {

/// A product that a stage has declared before the run.
struct DeclaredProduct {
  std::string name;  ///< without its step
  std::string stage;
  int64_t line = 0;  ///< of the stage in the configuration

  static constexpr auto members() {
    return std::tuple{&DeclaredProduct::name, &DeclaredProduct::stage, &DeclaredProduct::line};
  }
};

/// A product for the run report.
struct Product {
  std::string analysis;
  std::string stage;
  std::string name;  ///< below the output folder, without its step
  std::string path;  ///< of the file; that of the last, if there is one of each step
  std::string title;
  int64_t number = 0;  ///< of the stage in the analysis

  static constexpr auto members() {
    return std::tuple{&Product::analysis, &Product::stage, &Product::name,
                      &Product::path,     &Product::title, &Product::number};
  }
};

struct Text {
  std::string name, title;
  const char* comment;  ///< behind which its origin is put in front; nowhere if this is null
  std::string content;
  bool durable;
};

/// A file as a stage has made it, or one of each step.
struct File {
  std::string name, title;
  std::string_view content;
  bool per_step;
};

class Sink {
 public:
  explicit Sink(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes a table whole. Throws ErrorCode::File; and ErrorCode::Stage, as all of these do, if
  /// another stage of the analysis has written a product of that name.
  void write(const pillion_table& table, const products::Origin& origin);
  /// Makes the table's file aside, to which peers write parts, and puts it in place with all
  /// of them. Throws as write() does.
  [[nodiscard]] std::unique_ptr<products::WholeFile> begin(const pillion_table& table,
                                                           const products::Origin& origin) const;
  void finish(products::WholeFile& file, const pillion_table& table,
              const products::Origin& origin);
  /// The file of a table.
  [[nodiscard]] std::filesystem::path path_of(const pillion_table& table,
                                              const products::Origin& origin) const;
  /// Writes a text whole.
  void write_text(const Text& text, const products::Origin& origin);
  /// Writes a file whole, as it is.
  void write_file(const File& file, const products::Origin& origin);
  /// The folder of an analysis's products, which is there on return.
  [[nodiscard]] std::filesystem::path folder_of(const std::string& analysis) const;
  [[nodiscard]] const std::vector<Product>& products() const { return products_; }

  /// The products of one analysis.
  [[nodiscard]] std::vector<Product> products_of(const std::string& analysis) const;
  /// Removes them from the list: the analysis has moved to the other side.
  void remove(const std::string& analysis);
  /// Adds a product, or replaces the one of the same name.
  void add(const Product& product);
  /// Keeps a sentence for people about a product, unless there was one about it before.
  void note(const std::string& product, const std::string& sentence);
  /// The sentences since the last call.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  /// Throws if a product, by its name without a step, is another stage's.
  void expect_own(const std::string& name, const products::Origin& origin) const;
  std::filesystem::path folder_;
  std::vector<Product> products_;
  std::set<std::string> noted_;  ///< products
  std::vector<std::string> notes_;
};

}  // namespace pillion::stagehost

// SPDX-License-Identifier: BSD-3-Clause
#include "products/table_head.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "products/whole_file.hpp"

using namespace pillion::products;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("pillion-heads-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  void put(const std::string& name, const std::string& text) const {
    write_whole(path / name, text, false);
  }
  [[nodiscard]] std::string text(const std::string& name) const { return read_file(path / name); }
};

constexpr const char* rows = "step,mean\n0,# lost: 7\n1,2\n";

std::string head(int64_t publications, const std::string& skipped, const std::string& lost) {
  return "# pillion: table 1\n# title: \"# lost: 9\"\n# publications: " +
         std::to_string(publications) + "\n# skipped: " + skipped +
         "\n# coarsened: 0\n# lost: " + lost + "\n# columns:\n" + rows;
}

}  // namespace

TEST_CASE("heads of tables over the run get the final counts, and rows stay as they are") {
  const Folder folder;
  folder.put("a.csv", head(80, "3", "1"));
  folder.put("room.csv", head(79, "3         ", "1                   "));
  folder.put("ahead.csv", head(81, "3", "1"));
  folder.put("whole.csv", head(100, "3", "0"));
  folder.put("one.000000012.csv", head(1, "3", "1"));
  folder.put(".b.csv.partial", head(1, "3", "1"));
  folder.put("own.txt", "# lost: 1\n");
  CHECK(publications_in(folder.path).any);
  CHECK(publications_in(folder.path).in_series == 79);
  correct_heads(folder.path, {.published = 100, .skipped = 4, .coarsened = 0, .lost = 20});
  CHECK(folder.text("a.csv") == head(80, "4", "20"));
  CHECK(folder.text("room.csv") == head(79, "4         ", "20                  "));
  CHECK(folder.text("ahead.csv") == head(81, "4", "19"));
  CHECK(folder.text("whole.csv") == head(100, "3", "0"));
  CHECK(folder.text("one.000000012.csv") == head(1, "3", "1"));
  CHECK(folder.text("own.txt") == "# lost: 1\n");
  correct_heads(folder.path / "absent", {});
}

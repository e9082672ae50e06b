// SPDX-License-Identifier: BSD-3-Clause
#include "products/growing_table.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "products/whole_file.hpp"

using namespace pillion;
using namespace pillion::products;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("pillion-growing-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

std::string head_of(const std::string& number) {
  return "# title: t\n# rows: " + number + std::string(8 - number.size(), ' ') + "\nx,y,z\n";
}
std::string blank() { return "# title: t\n# rows: " + std::string(8, blank_number) + "\nx,y,z\n"; }

/// What a CSV reader that passes over comments finds behind the names.
std::vector<std::string> rows_of(const fs::path& file) {
  std::istringstream in(read_file(file));
  std::vector<std::string> rows;
  for (std::string line; std::getline(in, line);)
    if (!line.starts_with('#') && line != "x,y,z") rows.push_back(line);
  return rows;
}

void allow_bytes(size_t most) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = most;
  setrlimit(RLIMIT_FSIZE, &limit);
}

/// Adds rows behind the last of `known` rows.
bool add(const fs::path& path, int64_t known, const std::string& last, const std::string& rows) {
  GrowingFile file(path);
  const auto head = head_of(std::to_string(known + std::count(rows.begin(), rows.end(), '\n')));
  if (file.rows_below(head, blank()) != known || !file.ends_with(last)) return false;
  file.add(rows, head);
  return true;
}

}  // namespace

TEST_CASE("rows are added to the same file, and its head is changed in place") {
  const Folder folder;
  const auto path = folder.path / "t.csv";
  write_whole(path, head_of("1") + "1,2,3\n", false);
  fs::create_hard_link(path, folder.path / "link");
  REQUIRE(add(path, 1, "1,2,3\n", "4,5,6\n7,8,9\n"));
  CHECK(read_file(path) == head_of("3") + "1,2,3\n4,5,6\n7,8,9\n");
  REQUIRE(add(path, 3, "7,8,9\n", ""));
  REQUIRE(add(path, 3, "7,8,9\n", "0,0,0\n"));
  CHECK(read_file(path) == head_of("4") + "1,2,3\n4,5,6\n7,8,9\n0,0,0\n");
  CHECK(read_file(folder.path / "link") == read_file(path));  // it is the same file
}

TEST_CASE("a file that is another has no rows to add to") {
  const Folder folder;
  const auto path = folder.path / "t.csv";
  const auto rows_in = [&](const std::string& content) {
    write_whole(path, content, false);
    return GrowingFile(path).rows_below(head_of("9"), blank());
  };
  CHECK(rows_in(head_of("1") + "1,2,3\n") == 1);
  CHECK_FALSE(rows_in("# title: u" + head_of("1").substr(10) + "1,2,3\n"));
  CHECK_FALSE(rows_in(head_of("1").substr(0, 20)));
  CHECK_FALSE(rows_in(""));
  fs::remove(path);
  CHECK_FALSE(GrowingFile(path).rows_below(head_of("9"), blank()));
  CHECK_FALSE(fs::exists(path));
  fs::create_directory(path);
  CHECK_FALSE(GrowingFile(path).rows_below(head_of("9"), blank()));
}

TEST_CASE("rows are not added behind another row, or behind the rest of a row") {
  const Folder folder;
  const auto path = folder.path / "t.csv";
  for (const char* rows : {"9,2,3\n", "11,2,3\n", "1,2,3\n#4,5", "1,2,3\n#4,5,6\n", "1,2,3"}) {
    CAPTURE(rows);
    write_whole(path, head_of("1") + rows, false);
    CHECK_FALSE(add(path, 1, "1,2,3\n", "4,5,6\n"));
    CHECK(read_file(path) == head_of("1") + rows);
  }
}

TEST_CASE("a symbolic link in place of the file is not followed") {
  const Folder folder;
  const auto path = folder.path / "t.csv", other = folder.path / "other.csv";
  write_whole(other, head_of("1") + "1,2,3\n", false);
  fs::create_symlink(other, path);
  CHECK_FALSE(add(path, 1, "1,2,3\n", "4,5,6\n"));
  CHECK(rows_of(other).size() == 1);
}

// A process that may write so many bytes is killed at the next one: in the middle of a row, or
// behind one. It is a process of its own.
TEST_CASE("after a process was killed there are whole rows") {
  const Folder folder;
  const auto path = folder.path / "t.csv";
  const std::string rows = "1,22,333\n", added = "4,55,666\n7,88,999\n";
  const auto before = head_of("1").size() + rows.size();
  for (size_t most = before; most <= before + added.size(); ++most) {
    CAPTURE(most);
    write_whole(path, head_of("1") + rows, false);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_DFL);
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      allow_bytes(most);
      try {
        ::_exit(add(path, 1, rows, added) ? 0 : 1);
      } catch (...) {
        ::_exit(2);
      }
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    const auto found = rows_of(path);
    const bool is_whole = most == before + added.size();
    CHECK((is_whole ? WIFEXITED(status) && WEXITSTATUS(status) == 0 : WIFSIGNALED(status)));
    REQUIRE(found.size() == (is_whole ? 3 : 1));
    CHECK(found[0] == "1,22,333");
    if (is_whole) CHECK(found[2] == "7,88,999");
  }
}

TEST_CASE("on a full disk a growing table keeps what it had") {
  const Folder folder;
  const auto path = folder.path / "t.csv";
  write_whole(path, head_of("1") + "1,2,3\n", false);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  allow_bytes(head_of("1").size() + 9);
  CHECK_THROWS_AS((void)add(path, 1, "1,2,3\n", "4,5,6\n"), Error);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  CHECK(read_file(path) == head_of("1") + "1,2,3\n");
  CHECK(add(path, 1, "1,2,3\n", "4,5,6\n"));
}

// SPDX-License-Identifier: BSD-3-Clause
#include "products/whole_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"

using namespace pillion;
using namespace pillion::products;
namespace fs = std::filesystem;

namespace {

/// An empty folder of its own, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("pillion-unit-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("a file is replaced whole, and nothing is left beside it") {
  const Folder folder;
  const auto file = folder.path / "a" / "b.csv";
  write_whole(file, "one", false);
  write_whole(file, "two", true);
  CHECK(read_file(file) == "two");
  CHECK(std::distance(fs::directory_iterator(folder.path / "a"), fs::directory_iterator()) == 1);
}

TEST_CASE("what cannot be written is an error, and the old file stands") {
  // /dev/full accepts a file's opening and refuses its bytes: a full disk.
  const Folder folder;
  const auto file = folder.path / "t.csv";
  write_whole(file, "old", false);
  fs::create_symlink("/dev/full", aside(file));
  CHECK_THROWS_AS(write_whole(file, "new", false), Error);
  CHECK(read_file(file) == "old");
  CHECK_THROWS_AS(write_whole(file / "below", "x", false), Error);
  CHECK_THROWS_AS(read_file(folder.path / "absent"), Error);
  CHECK_THROWS_AS(read_file(folder.path), Error);
}

TEST_CASE("a folder gives way to a new one of its name") {
  const Folder folder;
  const auto target = folder.path / "checkpoint";
  for (const char* content : {"one", "two"}) {
    write_whole(aside(target) / "x", content, false);
    put_folder_in_place(target);
    CHECK(read_file(target / "x") == content);
  }
  write_whole(aside(target) / "x", "three", false);
  discard_folder_aside(target);
  CHECK(read_file(target / "x") == "two");
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

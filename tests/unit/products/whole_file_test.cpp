// SPDX-License-Identifier: BSD-3-Clause
#include "products/whole_file.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
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

/// While it lives, files cannot become longer than a few bytes, as if the disk were full.
struct SmallFiles {
  rlimit before{};
  SmallFiles() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{4, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, SIG_DFL);
  }
};

}  // namespace

TEST_CASE("a link that lies where a file is written aside is not followed") {
  const Folder folder;
  const auto precious = folder.path / "precious.txt", file = folder.path / "t.csv";
  write_whole(precious, "precious", false);
  fs::create_symlink(precious, aside(file));
  write_whole(file, "new", false);
  CHECK(read_file(precious) == "precious");
  CHECK(read_file(file) == "new");
  CHECK_FALSE(fs::is_symlink(file));
  // Nor is what a killed run has left there a hindrance.
  write_whole(folder.path / "x", "old draft", false);
  fs::rename(folder.path / "x", aside(file));
  write_whole(file, "n", false);
  CHECK(read_file(file) == "n");
}

TEST_CASE("a file is replaced whole, and nothing is left beside it") {
  const Folder folder;
  const auto file = folder.path / "a" / "b.csv";
  write_whole(file, "one", false);
  write_whole(file, "two", true);
  CHECK(read_file(file) == "two");
  CHECK(std::distance(fs::directory_iterator(folder.path / "a"), fs::directory_iterator()) == 1);
}

TEST_CASE("what cannot be written is an error, and the old file stands") {
  const Folder folder;
  const auto file = folder.path / "t.csv";
  write_whole(file, "old", false);
  {
    const SmallFiles files;
    CHECK_THROWS_WITH_AS(write_whole(file, "new and long", false), doctest::Contains("File too"),
                         Error);
  }
  CHECK(read_file(file) == "old");
  CHECK_FALSE(fs::exists(aside(file)));
  CHECK_THROWS_AS(write_whole(file / "below", "x", false), Error);
  CHECK_THROWS_AS(read_file(folder.path / "absent"), Error);
  CHECK_THROWS_AS(read_file(folder.path), Error);
}

TEST_CASE("a folder is found where it was left between two names, and comes back to its place") {
  const Folder folder;
  const auto target = folder.path / "checkpoint";
  CHECK(find_whole_folder(target, "last") == target);
  write_whole(replaced(target) / "last", "older", false);
  CHECK(find_whole_folder(target, "last") == replaced(target));
  write_whole(aside(target) / "first", "torn", false);
  CHECK(find_whole_folder(target, "last") == replaced(target));
  write_whole(aside(target) / "last", "newer", false);
  CHECK(find_whole_folder(target, "last") == aside(target));
  recover_folder(target, "last");
  CHECK(read_file(target / "last") == "newer");
  write_whole(aside(target) / "last", "newest", false);
  recover_folder(target, "last");  // it is at its place
  CHECK(read_file(target / "last") == "newer");
  // What is there without the last file is not replaced by what lies beside it.
  fs::remove(target / "last");
  recover_folder(target, "last");
  CHECK(fs::exists(target / "first"));
  CHECK_FALSE(fs::exists(target / "last"));
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

// SPDX-License-Identifier: BSD-3-Clause
#include "run/keepsake.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "products/whole_file.hpp"

using namespace pillion;
using namespace pillion::run;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("pillion-keepsake-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

/// Writes what stages and accounts say at time `n`, but for the last word.
void write_folder(const Keepsake& saved_state, int n) {
  fs::remove_all(saved_state.next_folder());
  products::write_whole(saved_state.next_folder() / "state", std::to_string(n), false);
}

std::vector<CostCounters> accounts_at(int n) {
  return {{.sidecar_seconds = n + 0.5, .publications = n}, {.lost = 2 * n}};
}

/// What is there, in one number; the parts must fit each other.
int what_is_kept(const fs::path& output, uint64_t run) {
  const auto content = Keepsake(output, run).read();
  if (!content) return -1;
  const int n = std::stoi(products::read_file(content->folder / "state"));
  REQUIRE(content->accounts.size() == 2);
  CHECK(content->accounts[0].publications == n);
  CHECK(content->accounts[0].sidecar_seconds == n + 0.5);
  CHECK(content->accounts[1].lost == 2 * n);
  CHECK(content->over == std::vector<int64_t>{n, 7});
  CHECK(content->before == std::vector<int64_t>{3, 4});
  return n;
}

}  // namespace

TEST_CASE("what was completed last is there, wherever the next one got to") {
  const Folder folder;
  Keepsake saved_state(folder.path, 5);
  CHECK_FALSE(saved_state.read());
  for (int n = 0; n < 5; ++n) {
    write_folder(saved_state, n);
    CHECK(what_is_kept(folder.path, 5) == n - 1);
    saved_state.complete(accounts_at(n), {n, 7}, {3, 4});
    CHECK(what_is_kept(folder.path, 5) == n);
  }
  CHECK(what_is_kept(folder.path, 6) == -1);
  saved_state.remove();
  CHECK(what_is_kept(folder.path, 5) == -1);
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a successor goes on with the other folder, and so do its ranks that write nothing") {
  const Folder folder;
  Keepsake first(folder.path, 5);
  write_folder(first, 1);
  first.complete(accounts_at(1), {1, 7}, {3, 4});
  Keepsake second(folder.path, 5), other_rank(folder.path, 5);
  REQUIRE(second.read());
  REQUIRE(other_rank.read());
  for (int n = 2; n < 5; ++n) {
    CHECK(second.next_folder() == other_rank.next_folder());
    write_folder(second, n);
    CHECK(what_is_kept(folder.path, 5) == n - 1);
    second.complete(accounts_at(n), {n, 7}, {3, 4});
    other_rank.complete_elsewhere();
  }
  CHECK(what_is_kept(folder.path, 5) == 4);
}

TEST_CASE("what another version wrote, or was cut short, is an error") {
  const Folder folder;
  Keepsake saved_state(folder.path, 5);
  write_folder(saved_state, 1);
  saved_state.complete(accounts_at(1), {1, 7}, {3, 4});
  const fs::path file = saved_state.next_folder().parent_path() / "content";
  auto text = products::read_file(file);
  products::write_whole(file, text.substr(0, text.size() - 3), false);
  CHECK_THROWS_AS(Keepsake(folder.path, 5).read(), Error);
  text[text.find("keepsake 1") + 9] = '9';
  products::write_whole(file, text, false);
  CHECK_THROWS_AS(Keepsake(folder.path, 5).read(), Error);
}

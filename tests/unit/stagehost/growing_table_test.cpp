// SPDX-License-Identifier: BSD-3-Clause
// Tables to which publications add rows, through the interface that plug-ins have.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <pillion/stage.hpp>

#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/scalar_series.hpp"
#include "stagehost/sink.hpp"
#include "stagehost/table_writing.hpp"
#include "stagehost/work.hpp"

using namespace pillion;
using namespace pillion::stagehost;
namespace fs = std::filesystem;

namespace {

/// A stage that adds a row at each publication, and its folder, which is removed at the end.
struct Growing {
  explicit Growing(const std::string& name) {
    folder = fs::temp_directory_path() / ("pillion-" + name + std::to_string(::getpid()));
    fs::remove_all(folder);
    sink = std::make_unique<Sink>(folder);
    context.peers = &world;
    context.sink = sink.get();
    context.scalars = &series;
    context.origin.analysis = std::string("a");
    context.origin.stage = std::string("s");
    work.context = &context;
  }
  ~Growing() { fs::remove_all(folder); }

  void publish() {
    const auto n = static_cast<int64_t>(steps.size());
    steps.push_back(10 * n);
    values.push_back(0.1 * static_cast<double>(n));
    context.origin.step = 10 * n;
    context.origin.publications = n + 1;
    if (has_scalar) context.origin.scalars = {{"dt", "s", 1.0 / static_cast<double>(n + 3)}};
    series.add(10 * n, context.origin.scalars);
  }
  void write(bool is_growing = true) {
    stage::Table table("t", "T");
    table.column("step", "", std::span<const int64_t>(steps));
    table.column("value", "K", std::span<const double>(values));
    if (has_more) table.column("more", "", std::span<const double>(values));
    table.attribute("last", values.back(), "K");
    if (is_growing) table.growing();
    stage::check(&host_table(), table.write(&host_table(), &work));
  }
  [[nodiscard]] fs::path path() const { return folder / "a" / "t.csv"; }
  [[nodiscard]] std::string text() const { return products::read_file(path()); }
  /// What a run writes that writes it once.
  [[nodiscard]] std::string whole() {
    Sink other(folder / "other");
    auto of_other = context;
    of_other.sink = &other;
    work.context = &of_other;
    write();
    work.context = &context;
    return products::read_file(folder / "other" / "a" / "t.csv");
  }
  /// Which file it is: another if it was written whole.
  [[nodiscard]] fs::path link(const std::string& name) const {
    fs::create_hard_link(path(), folder / name);
    return folder / name;
  }

  comm::Communicator world{MPI_COMM_SELF};
  fs::path folder;
  std::unique_ptr<Sink> sink;
  ScalarSeries series;
  ExecutionContext context;
  pillion_work work;
  std::vector<int64_t> steps;
  std::vector<double> values;
  bool has_more = false, has_scalar = true;
};

int64_t bytes_written() {
  std::ifstream in("/proc/self/io");
  std::string key;
  for (int64_t value = 0; in >> key >> value;)
    if (key == "wchar:") return value;
  return 0;
}

}  // namespace

TEST_CASE("a table to which rows are added is that which is written once") {
  Growing run("growing-");
  for (int n = 0; n < 30; ++n) {
    run.publish();
    if (n % 3 == 0) run.write();
    if (n == 3) (void)run.link("first");
  }
  run.write();
  CHECK(run.text() == run.whole());
  CHECK(products::read_file(run.folder / "first") == run.text());  // it is still the same file
  CHECK(run.sink->products().size() == 1);
}

TEST_CASE("what a writing takes does not grow with the table") {
  Growing run("linear-");
  for (int n = 0; n < 2000; ++n) run.publish();
  run.write();
  const auto before = bytes_written();
  for (int n = 0; n < 100; ++n) {
    run.publish();
    run.write();
  }
  CHECK(bytes_written() - before < 100 * 1000);  // the table has 50,000
  CHECK(run.text() == run.whole());
}

TEST_CASE("a table with other columns or other rows is written whole") {
  Growing run("other-");
  for (int n = 0; n < 3; ++n) run.publish();
  run.write();
  SUBCASE("a column more") { run.has_more = true; }
  SUBCASE("another row, the last one that was written") { run.values.back() = 7; }
  SUBCASE("fewer rows") {
    run.steps.pop_back();
    run.values.pop_back();
    run.context.origin.step = 10;
  }
  SUBCASE("a file of others") { std::ofstream(run.path(), std::ios::app) << "of others\n"; }
  SUBCASE("no file") { fs::remove_all(run.folder); }
  SUBCASE("a scalar less") {
    run.has_scalar = false;
    run.context.origin.scalars.clear();
  }
  SUBCASE("a reason why it ended") { run.context.origin.disabled = "no \"memory\""; }
  run.write();
  CHECK(run.text() == run.whole());
  run.publish();
  run.write();
  CHECK(run.text() == run.whole());
}

TEST_CASE("after an analysis has moved its table is written whole") {
  Growing run("moved-");
  run.publish();
  run.write();
  const auto before = run.link("before");
  run.sink->remove("a");
  run.publish();
  run.write();
  CHECK(run.text() == run.whole());
  CHECK(products::read_file(before) != run.text());
}

// SPDX-License-Identifier: BSD-3-Clause
#include "base/process.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../limits.hpp"
#include "base/clock.hpp"

using namespace pillion;
using namespace pillion::base;

namespace {

Bytes bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string run(const std::string& command, const std::string& input = {}, double seconds = 20) {
  const auto out = run_program({"/bin/sh", "-c", command}, bytes_of(input), seconds);
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

std::string complaint(const std::string& command, double seconds = 20) {
  try {
    run(command, {}, seconds);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::File);
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a program gets what is said and answers, however much it is") {
  CHECK(run("cat", "a word") == "a word");
  CHECK(run("cat").empty());
  const std::string much(3'000'000, 'x');
  CHECK(run("cat", much) == much);
  CHECK(run("exec cat >/dev/null", much).empty());
  CHECK(run("head -c 5", much) == "xxxxx");
  CHECK(run("echo deaf; exec </dev/null; sleep 0.2", much) == "deaf\n");
}

TEST_CASE("a program that fails, dies, hangs or is not there is an error that says so") {
  CHECK(complaint("exit 3").find("status 3") != std::string::npos);
  CHECK(complaint("kill -9 $$").find("signal 9") != std::string::npos);
  const double end = unit::hang_begins();
  CHECK(complaint("exec sleep 60", 0.2).find("0.2 s") != std::string::npos);
  CHECK(complaint("exec >/dev/null; exec sleep 60", 0.2).find("0.2 s") != std::string::npos);
  CHECK(monotonic_seconds() < end);
  CHECK_THROWS_AS(run_program({"/no/such/program"}, {}, 1), Error);
}

TEST_CASE("what MPI left in the environment is not handed on, all else is") {
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("PMIX_RANK", "3", 1);
  setenv("PILLION_UNIT_TEST", "kept", 1);
  const auto environment = run("env");
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("PMIX_RANK");
  CHECK(environment.find("OMPI_") == std::string::npos);
  CHECK(environment.find("PMIX_") == std::string::npos);
  CHECK(environment.find("PILLION_UNIT_TEST=kept") != std::string::npos);
}

TEST_CASE("what is started detached is nobody's child and nobody waits for it") {
  namespace fs = std::filesystem;
  const auto file = fs::temp_directory_path() / ("pillion-detached-" + std::to_string(getpid()));
  fs::remove(file);
  const std::string name = file.string();
  // It ends only when this test lets it, so a call that waited for it would hang.
  start_detached("pwd > '" + name + ".at'; until [ -e '" + name + ".go' ]; do sleep 0.01; done; " +
                     "echo $PPID > '" + name + ".new'; mv '" + name + ".new' '" + name + "'",
                 "/usr");
  CHECK(!fs::exists(file));
  run("touch '" + name + ".go'");
  REQUIRE(wait_until([&] { return fs::exists(file); }, unit::hang_begins()));
  const auto parent = run("cat '" + file.string() + "'");
  CHECK(parent != std::to_string(getpid()) + "\n");
  CHECK(run("cat '" + file.string() + ".at'") == "/usr\n");
  for (const char* end : {".at", ".go"}) fs::remove(name + end);
  fs::remove(file);
}

// SPDX-License-Identifier: BSD-3-Clause
// Feeds stored fields through the analyses of a configuration, as the simulation would have done
// while it ran: `pillion replay`. To Pillion it is a simulation like any other. All ranks of its
// MPI job are this program; some of them become sidecars, if the configuration says so.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "replay/agreement.hpp"
#include "replay/kept.hpp"
#include "replay/message.hpp"
#include "replay/plan.hpp"
#include "replay/player.hpp"
#include "replay/search.hpp"
#include "replay/verdict.hpp"

namespace {

using namespace replay;
using pillion::Error;
using pillion::Field;
using pillion::Session;

void say(MPI_Comm comm, std::FILE* where, const std::string& text) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) std::fputs(text.c_str(), where);
}

/// What the session said last; a failure comes as an exception, too.
std::string& last_said() {
  static std::string text;
  return text;
}

void log(pillion::LogLevel level, const std::string& message) {
  if (level < pillion::LogLevel::Warning) return;
  const char* word = level == pillion::LogLevel::Warning ? "warning: " : "";
  std::fputs(fmt::format("pillion-replay: {}{}\n", word, message).c_str(), stderr);
  last_said() = message;
}

void complain(MPI_Comm comm, const std::string& text) {
  if (text != last_said()) say(comm, stderr, "pillion-replay: " + text + "\n");
}

/// As a text in a configuration.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += std::string(c == '\'' || c == '$' ? 2 : 1, c);
  return out + "'";
}

/// There is no simulation to be held up or to be kept safe: reading waits for sidecars as long as
/// it takes, and they are in this job.
constexpr std::pair<const char*, const char*> overrides[] = {
    {"sidecars.when_full", "wait"}, {"sidecars.deadline", "1e9 s"}, {"sidecars.spill", "null"},
    {"sidecars.job", "same"},       {"sidecars.restart", "null"},   {"sidecars.launch", "null"}};

/// Nothing if there is no such file.
std::string text_of(const std::string& path) {
  std::ostringstream text;
  if (std::filesystem::exists(path)) text << std::ifstream(path).rdbuf();
  return text.str();
}

Session open(const Options& options) {
  const auto bytes = from_first(MPI_COMM_WORLD, [&] {
    expect_elsewhere(find_files(options.files), text_of(options.configuration), options.output);
    Packer out;
    out.put(gather_about(options).parameters);
    return out.bytes;
  });
  pillion::Options session;
  for (const auto& [name, value] : Unpacker(bytes).next<std::map<std::string, std::string>>())
    session.set(name, value);
  for (const auto& [name, value] : options.parameters) session.set(name, value);
  for (const auto& [key, value] : overrides) session.override_entry(key, value);
  if (!options.output.empty()) session.override_entry("output", quoted(options.output));
  return Session::open(options.configuration, MPI_COMM_WORLD, session.log(log));
}

std::vector<Field> used_fields(const Session& session) {
  std::vector<Field> used;
  for (const auto& field : session.fields())
    if (field.used) used.push_back(field);
  return used;
}

std::string summary(const Tally& tally, const std::vector<Frame>& frames, size_t fields,
                    int64_t bytes) {
  return fmt::format("{} steps, {} to {}, of which {} were due; {} fields, {:.1f} MB read",
                     tally.steps, frames.front().step, frames.back().step, tally.due, fields,
                     static_cast<double>(bytes) / 1e6);
}

/// Says what the report finds wrong.
int judge(MPI_Comm comm, const std::string& report) {
  const auto faults = from_first(comm, [&] {
    std::string all;
    for (const auto& fault : faults_in(text_of(report))) all += "pillion-replay: " + fault + "\n";
    return all;
  });
  say(comm, stderr, faults);
  return faults.empty() ? 0 : 1;
}

/// The folder of a report, as people call it from here.
std::string folder_of(const std::string& report) {
  const auto folder = std::filesystem::path(report).parent_path();
  const auto near = folder.lexically_relative(std::filesystem::current_path());
  return (near.empty() || *near.begin() == ".." ? folder : near).string();
}

int play(Session& session, const Options& options, MPI_Comm comm) {
  const std::string report = session.report_path();
  const auto warn = [&](const std::string& text) { log(pillion::LogLevel::Warning, text); };
  const auto bytes = from_first(comm, [&] {
    const auto output = std::filesystem::path(report).parent_path().string();
    expect_kept(find_files(options.files), text_of(options.configuration), output);
    return bytes_of(make_plan(options, session.fields(), warn));
  });
  const auto frames = read_frames(bytes);
  const auto fields = used_fields(session);
  const Tally tally = Player(session, fields, options.indices, comm).play(frames);
  int64_t read = tally.bytes;
  MPI_Allreduce(MPI_IN_PLACE, &read, 1, MPI_INT64_T, MPI_SUM, comm);
  session.close();
  const int status = judge(comm, report);
  say(comm, stdout,
      fmt::format("pillion-replay: {}; products are in {}\n",
                  summary(tally, frames, fields.size(), read), folder_of(report)));
  if (tally.due == 0) complain(comm, "nothing was due at any of these steps; see 'every'");
  return status;
}

int run(const Options& options) {
  auto session = open(options);
  if (session.serve()) return 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(session.communicator(), &comm);
  int status = 1;
  try {
    status = play(session, options, comm);
  } catch (const Error& error) {
    complain(comm, error.what());
  }
  MPI_Comm_free(&comm);
  return status;
}

int run(const std::vector<std::string>& words) {
  Options options;
  try {
    options = read_options(words);
  } catch (const Error& error) {
    complain(MPI_COMM_WORLD, fmt::format("{} (see pillion replay --help)", error.what()));
    return 2;
  }
  if (options.help) {
    say(MPI_COMM_WORLD, stdout, usage);
    return 0;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    complain(MPI_COMM_WORLD, error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run(std::vector<std::string>(argv + 1, argv + argc));
  MPI_Finalize();
  return status;
}

// SPDX-License-Identifier: BSD-3-Clause
// Finds mistakes in a configuration without the simulation, and predicts the run:
//   pillion-check CONFIGURATION.yaml
//   pillion-check EXTRA.yaml --of RUN.yaml    analyses to add to a run
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "check_report.hpp"

namespace {

constexpr const char* usage =
    "usage: pillion-check CONFIGURATION.yaml [--set NAME=VALUE]... [--override KEY=YAML]...\n"
    "                     [--ranks N] [--nodes N] [--sidecars N] [--catalogue FILE]\n"
    "                     [--restart FOLDER] [--of RUN.yaml] [--json]\n"
    "  --set        value of a parameter $NAME\n"
    "  --override   what goes before the file's own: a key such as sidecars.memory, and its value\n"
    "  --ranks      of the whole job, sidecars included\n"
    "  --nodes      that the ranks are on, evenly\n"
    "  --sidecars   the number of ranks that are started as sidecars\n"
    "  --catalogue  a YAML file with the meshes and fields that the program offers by itself\n"
    "  --restart    the checkpoint to resume from\n"
    "  --of         the run's configuration, to check analyses to add to that run\n"
    "  --json       for programs\n";

using pillion::preflight::CheckRequest;

struct Arguments {
  CheckRequest request;
  bool as_json = false;
  bool wants_help = false;
  std::string wrong;
};

void read_pair(const std::string& word, std::map<std::string, std::string>& to, Arguments& out) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) out.wrong = "'" + word + "' is not a NAME=VALUE";
  else to[word.substr(0, equals)] = word.substr(equals + 1);
}

void read_count(const std::string& word, int64_t& count, Arguments& out) {
  constexpr int64_t most = 100'000'000;
  char* end = nullptr;
  count = std::strtoll(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || count < 0 || count > most)
    out.wrong = "'" + word + "' is not a number of ranks or nodes";
}

void read_option(const std::string& name, const std::string& value, Arguments& out) {
  if (name == "--set") read_pair(value, out.request.parameters, out);
  else if (name == "--override") read_pair(value, out.request.overrides, out);
  else if (name == "--ranks") read_count(value, out.request.start.ranks, out);
  else if (name == "--nodes") read_count(value, out.request.start.nodes, out);
  else if (name == "--sidecars") read_count(value, out.request.start.sidecars, out);
  else if (name == "--catalogue") out.request.catalogue_file = value;
  else if (name == "--restart") out.request.restart = value;
  else if (name == "--of") out.request.of = value;
  else out.wrong = "there is no option '" + name + "'";
}

Arguments read_arguments(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--help" || word == "-h") out.wants_help = true;
    else if (word == "--json") out.as_json = true;
    else if (word.starts_with("-") && i + 1 < count) read_option(word, words[++i], out);
    else if (word.starts_with("-"))
      out.wrong = "'" + word + "' is not an option, or lacks its value";
    else if (out.request.file.empty()) out.request.file = word;
    else out.wrong = "'" + word + "' is one file too many";
  }
  if (out.request.file.empty() && out.wrong.empty()) out.wrong = "which configuration?";
  return out;
}

/// Reads no more than the library needs to refuse a file that is too long.
bool read_file(const std::string& path, std::string& text) {
  std::ifstream in(path);
  text.resize(size_t{1} << 20);
  const bool is_open = in.is_open();
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return is_open && !in.bad();
}

int fail(const std::string& why) {
  std::fprintf(stderr, "pillion check: %s\n", why.c_str());
  return 1;
}

int check(Arguments& arguments) {
  auto& request = arguments.request;
  if (const auto& file = request.catalogue_file; !file.empty()) {
    if (!read_file(file, request.catalogue))
      return fail("the catalogue '" + file + "' cannot be read");
    if (request.catalogue.find('\0') != std::string::npos)
      return fail("the catalogue '" + file +
                  "' contains the character U+0000; save the file as UTF-8");
  }
  const auto result = pillion::preflight::check(request);
  std::cout << (arguments.as_json ? pillion::apps::report_as_json(*result, request.file)
                                  : pillion::apps::report_for_people(*result, request.file));
  return result->mistakes.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  auto arguments = read_arguments(count, words);
  if (arguments.wants_help) return std::fputs(usage, stdout) < 0 ? 1 : 0;
  try {
    if (arguments.wrong.empty()) return check(arguments);
  } catch (const std::exception& e) {
    return fail(e.what());
  }
  std::fprintf(stderr, "pillion check: %s\n%s", arguments.wrong.c_str(), usage);
  return 2;
}

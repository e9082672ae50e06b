// SPDX-License-Identifier: BSD-3-Clause
// Reading the command line, word by word.
#include "replay/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

namespace replay {

using pillion::Error;
using pillion::ErrorCode;

const char* const usage =
    "usage: pillion replay [-n RANKS] [OPTIONS] FILES... CONFIGURATION.yaml\n"
    "Computes from stored fields what a run would have computed while it went on.\n"
    "  FILES            such files, or folders of them:\n"
    "                     FIELD.STEP.npy   a field at a step; FIELD.npy: at step 0\n"
    "                     NAME_STEP.h5     or .hdf5: datasets named after fields; attributes\n"
    "                                      `step` and `time` of the file go before its name\n"
    "                     NAME.idx         all steps of an IDX dataset\n"
    "                     NAME.raw.yaml    all steps that the stage `write` left as raw files\n"
    "  CONFIGURATION    the YAML file of the run; the last word\n"
    "  -n RANKS         start that many ranks with mpirun; the first option\n"
    "  --set NAME=VALUE   value of the parameter $NAME\n"
    "  --output FOLDER    where products go, whatever the configuration says\n"
    "  --name FIELD=NAME  files call the field NAME; in HDF5 also a path, GROUP/NAME\n"
    "  --axes ORDER       how grids are indexed: zyx, which is [z, y, x], or xyz; components last\n"
    "  --steps LIST       only these, such as 0,20..100\n"
    "  --time-per-step T  the time of a step is T times its number\n"
    "  --domain MESH=LX,LY,LZ   particles live in a periodic box of that size, from the origin\n"
    "  --about FILE       YAML with `parameters`, `domains` and `steps`; by default\n"
    "                     snapshots.yaml beside the files, if it is there\n"
    "Options go before what files say. Without times the time of a step is its number. Whatever "
    "the\n"
    "configuration says, reading waits for sidecars, so nothing is left out, and they are ranks "
    "of\n"
    "this job.\n"
    "Status: 0 all is well, 1 something failed, 2 the command line is wrong.\n";

namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::Argument, why); }

double number(const std::string& text, const std::string& what) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    refuse(fmt::format("{} needs a number, found '{}'", what, text));
  return value;
}

std::pair<std::string, std::string> pair_of(const std::string& option, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    refuse(fmt::format("{} needs NAME=VALUE, found '{}'", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int64_t step_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(fmt::format("--steps needs numbers and ranges such as 0,20..100; found '{}'", text));
  return value;
}

/// "0,20..100"
std::vector<std::pair<int64_t, int64_t>> read_steps(const std::string& text) {
  std::vector<std::pair<int64_t, int64_t>> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t dots = word.find("..");
    const int64_t first = step_number(word.substr(0, dots));
    out.emplace_back(first, dots == std::string::npos ? first : step_number(word.substr(dots + 2)));
  }
  if (out.empty()) (void)step_number(text);
  return out;
}

Indices read_indices(const std::string& text) {
  if (text != "zyx" && text != "xyz") refuse(fmt::format("--axes is zyx or xyz, found '{}'", text));
  return text == "xyz" ? Indices::Xyz : Indices::Zyx;
}

using Setter = std::function<void(Options&, const std::string& value)>;

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> table = {
      {"--set", [](Options& o, const auto& v) { o.parameters.insert(pair_of("--set", v)); }},
      {"--output", [](Options& o, const auto& v) { o.output = v; }},
      {"--name", [](Options& o, const auto& v) { o.names.insert(pair_of("--name", v)); }},
      {"--axes", [](Options& o, const auto& v) { o.indices = read_indices(v); }},
      {"--about", [](Options& o, const auto& v) { o.about = v; }},
      {"--steps", [](Options& o, const auto& v) { o.steps = read_steps(v); }},
      {"--time-per-step",
       [](Options& o, const auto& v) { o.time_per_step = number(v, "--time-per-step"); }},
      {"--domain", [](Options& o, const auto& v) {
         const auto [mesh, box] = pair_of("--domain", v);
         o.domains[mesh] = read_box(box);
       }}};
  return table;
}

void read_option(const std::string& word, const std::string* value, Options& out) {
  const auto setter = setters().find(word);
  if (word == "-n") refuse("-n RANKS is the first option: pillion replay -n 4 ...");
  if (setter == setters().end()) {
    std::string known;
    for (const auto& [name, set] : setters()) known += " " + name;
    refuse(fmt::format("there is no option '{}'; there are -n{}", word, known));
  }
  if (value == nullptr) refuse(fmt::format("{} needs a value", word));
  setter->second(out, *value);
}

/// The configuration is the last word, so that files may be given by a pattern.
void take_configuration(Options& options) {
  if (options.files.empty()) refuse("which files, and which configuration?");
  options.configuration = options.files.back();
  options.files.pop_back();
  const auto extension = std::filesystem::path(options.configuration).extension();
  if (extension != ".yaml" && extension != ".yml")
    refuse(fmt::format("the last word is the configuration, a .yaml file; found '{}'",
                       options.configuration));
  if (options.files.empty()) refuse("which files are to be replayed?");
}

}  // namespace

pillion_domain read_box(const std::string& text) {
  pillion_domain box{};
  std::string rest = text + ",";
  for (int d = 0; d < 3; ++d) {
    const size_t comma = rest.find(',');
    if (comma == std::string::npos) refuse(fmt::format("'{}' is no box; say LX,LY,LZ", text));
    box.hi[d] = number(rest.substr(0, comma), "--domain");
    if (!(box.hi[d] > 0)) refuse(fmt::format("'{}' is no box: its sides must be positive", text));
    box.periodic[d] = 1;
    rest.erase(0, comma + 1);
  }
  if (!rest.empty()) refuse(fmt::format("'{}' is no box; say LX,LY,LZ", text));
  return box;
}

Options read_options(const std::vector<std::string>& words) {
  Options out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      out.help = true;
      return out;
    }
    if (!word.starts_with("-")) {
      out.files.push_back(word);
      continue;
    }
    read_option(word, i + 1 < words.size() ? &words[i + 1] : nullptr, out);
    ++i;
  }
  take_configuration(out);
  return out;
}

}  // namespace replay

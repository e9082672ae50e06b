// SPDX-License-Identifier: BSD-3-Clause
// Keyword by keyword; every message repeats the word that could not be read.
#include "options.hpp"

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

namespace pillion::lammps {

namespace {

/// Hands out words one after another.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  [[nodiscard]] bool any() const { return next_ < words_.size(); }
  [[nodiscard]] const std::string& keyword() { return words_[next_++]; }
  [[nodiscard]] const std::string& value(const std::string& keyword) {
    if (!any()) throw std::runtime_error("fix pillion: keyword '" + keyword + "' lacks a value");
    return words_[next_++];
  }

 private:
  const std::vector<std::string>& words_;
  size_t next_ = 0;
};

[[noreturn]] void refuse(const std::string& keyword, const std::string& value,
                         const std::string& wanted) {
  throw std::runtime_error("fix pillion: '" + keyword + " " + value + "': expected " + wanted);
}

double number(const std::string& keyword, const std::string& text, double least) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);  // in every locale of the program
  if (read.ec != std::errc() || read.ptr != end || !(value >= least))
    refuse(keyword, text, "a number of at least " + std::to_string(static_cast<int>(least)));
  return value;
}

bool one_of(const std::string& keyword, const std::string& text, const char* yes, const char* no) {
  if (text != yes && text != no) refuse(keyword, text, std::string(yes) + " or " + no);
  return text == yes;
}

int whole(const std::string& keyword, const std::string& text) {
  const double value = number(keyword, text, 1);
  if (value > 1e9 || value != static_cast<int>(value)) refuse(keyword, text, "a whole number");
  return static_cast<int>(value);
}

}  // namespace

FixOptions read_fix_options(const std::vector<std::string>& texts) {
  FixOptions options;
  Words words(texts);
  while (words.any()) {
    const std::string keyword = words.keyword();
    const std::string& value = words.value(keyword);
    if (keyword == "config") options.ride.file = value;
    else if (keyword == "restart") options.ride.restart = value;
    else if (keyword == "set") options.ride.settings.emplace_back(value, words.value(keyword));
    else if (keyword == "comm") options.universe = one_of(keyword, value, "universe", "world");
    else if (keyword == "every") options.every = whole(keyword, value);
    else if (keyword == "checkpoint") options.checkpoint = one_of(keyword, value, "yes", "no");
    else if (keyword == "progress") options.progress = number(keyword, value, 0);
    else
      throw std::runtime_error(
          "fix pillion: unknown keyword '" + keyword +
          "'; known are config, restart, set, comm, every, checkpoint, progress");
  }
  return options;
}

// Pillion's options are few; everything that is not one of them goes to LAMMPS as it is.

namespace {

std::pair<std::string, std::string> setting(const std::string& text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0)
    throw std::runtime_error("-set " + text + ": expected name=value");
  return {text.substr(0, sign), text.substr(sign + 1)};
}

/// A word of LAMMPS's option -partition: `4` is one of four ranks, and `8x4` are eight.
void add_partitions(const std::string& word, std::vector<int>& partitions) {
  const std::string option = "-partition";
  const size_t sign = word.find('x');
  const int count = sign == std::string::npos ? 1 : whole(option, word.substr(0, sign));
  const int ranks = whole(option, sign == std::string::npos ? word : word.substr(sign + 1));
  partitions.insert(partitions.end(), static_cast<size_t>(count), ranks);
}

}  // namespace

const char* usage() {
  return R"(usage: pillion-lmp -pillion FILE.yaml [-restart PATH] [-set NAME=VALUE ...] -in INPUT
                   [LAMMPS options]

Runs a LAMMPS input that contains `fix ID group pillion`, and the analyses of FILE.yaml with it.
  -pillion FILE     what to compute, how often, and where
  -restart PATH     the state of analyses that was saved with a restart file
  -set NAME=VALUE   value of $NAME in FILE; may be given several times
  -pillion-help     this text
With `-partition`, each partition has analyses of its own: $partition in FILE is its number, from 1,
and `output: results.$partition` keeps them apart. Ranks beyond those of the partitions are sidecars.
All other options are LAMMPS's own; `pillion-lmp -help` lists them.
)";
}

int partition_of(int rank, int ranks, const std::vector<int>& partitions) {
  const int of_lammps = std::accumulate(partitions.begin(), partitions.end(), 0);
  const int count = static_cast<int>(partitions.size());
  const int others = ranks - of_lammps;
  if (others < 0 || others % count != 0)
    throw std::runtime_error("-partition needs " + std::to_string(of_lammps) +
                             " ranks for LAMMPS, and the job has " + std::to_string(ranks) +
                             "; the others are sidecars, the same number for each of the " +
                             std::to_string(count) + " partitions");
  int partition = 0;
  for (int last = 0; last <= rank; ++partition)
    last += partitions[static_cast<size_t>(partition)] + others / count;
  return partition;
}

CommandLine read_command_line(int argc, char** argv) {
  CommandLine line;
  line.lammps.emplace_back(argc > 0 ? argv[0] : "pillion-lmp");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool ours = word == "-pillion" || word == "-restart" || word == "-set";
    if (ours && i + 1 == argc) throw std::runtime_error(word + " lacks a value");
    if (word == "-pillion") line.ride.file = argv[++i];
    else if (word == "-restart") line.ride.restart = argv[++i];
    else if (word == "-set") line.ride.settings.push_back(setting(argv[++i]));
    else if (word == "-pillion-help") line.help = true;
    else line.lammps.push_back(word);
    if (word == "-partition" || word == "-p")
      while (i + 1 < argc && argv[i + 1][0] != '-') {
        line.lammps.emplace_back(argv[++i]);
        add_partitions(line.lammps.back(), line.partitions);
      }
  }
  // `pillion run` names the file there.
  const char* given = std::getenv("PILLION_CONFIGURATION");
  if (line.ride.file.empty() && given != nullptr) line.ride.file = given;
  return line;
}

}  // namespace pillion::lammps

// SPDX-License-Identifier: BSD-3-Clause
// Pillion's options are few; everything that is not one of them goes to LAMMPS as it is.
#include "command_line.hpp"

#include <stdexcept>

namespace pillion::lammps {

namespace {

std::pair<std::string, std::string> setting(const std::string& text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0)
    throw std::runtime_error("-set " + text + ": expected name=value");
  return {text.substr(0, sign), text.substr(sign + 1)};
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
All other options are LAMMPS's own; `pillion-lmp -help` lists them.
)";
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
  }
  return line;
}

}  // namespace pillion::lammps

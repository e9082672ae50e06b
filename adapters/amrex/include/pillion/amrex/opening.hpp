// SPDX-License-Identifier: BSD-3-Clause
// Opens a session before AMReX is initialised, because AMReX needs the communicator that a session
// gives: the file's name is read from the command line or the inputs file, as ParmParse would read
// it. Once AMReX has read its inputs, set_parameters() and the catalogue complete the session.
//
//   pillion.file = FILE                 the YAML file
//   pillion.parameters.NAME = VALUE     the value of $NAME in it
#pragma once

#include <AMReX_ParmParse.H>

#include <cstdlib>
#include <fstream>
#include <pillion/session.hpp>
#include <sstream>
#include <string>

namespace pillion::amrex {

/// The value that a line of an inputs file, or a word of a command line, gives to a key of
/// ParmParse;
/// "" if it is about another key. The value ends at a blank or a comment, unless it is in quotes.
inline std::string value_in(const std::string& line, const std::string& key) {
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string::npos || line.compare(start, key.size(), key) != 0) return "";
  auto at = line.find_first_not_of(" \t", start + key.size());
  if (at == std::string::npos || line[at] != '=') return "";
  at = line.find_first_not_of(" \t\r", at + 1);
  if (at == std::string::npos || line[at] == '#') return "";
  const bool is_quoted = line[at] == '"';
  const auto first = is_quoted ? at + 1 : at;
  const auto end = line.find_first_of(is_quoted ? "\"" : " \t\r#", first);
  return line.substr(first, end == std::string::npos ? end : end - first);
}

/// What ParmParse will know as `key`: the last of the inputs file, which is the first word unless
/// that has a '=', or the last of the words after it. Reads no file named in `FILE = …`.
inline std::string input_value(int argc, char** argv, const std::string& key) {
  std::string found;
  if (argc > 1 && std::string(argv[1]).find('=') == std::string::npos) {
    std::ifstream inputs(argv[1]);
    for (std::string line; std::getline(inputs, line);)
      if (auto value = value_in(line, key); !value.empty()) found = value;
  }
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (auto value = value_in(word, key); !value.empty()) found = value;
    else if (word == key && a + 2 < argc && std::string(argv[a + 1]) == "=") found = argv[a + 2];
  }
  return found;
}

/// The same on every rank: the first one reads. [collective over comm]
inline std::string input_value(int argc, char** argv, const std::string& key, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::string value;
  if (rank == 0) value = input_value(argc, argv, key);
  auto size = static_cast<unsigned long>(value.size());
  MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG, 0, comm);
  value.resize(size);
  MPI_Bcast(value.data(), static_cast<int>(size), MPI_CHAR, 0, comm);
  return value;
}

/// Opens a session of the file that `pillion.file` names, or pillion.yaml, in two phases. MPI must
/// have been initialised. [collective over comm]
///
///     auto session = pillion::amrex::open(argc, argv, MPI_COMM_WORLD);
///     if (session.serve()) return MPI_Finalize();
///     amrex::Initialize(argc, argv, true, session.communicator());
inline Session open(int argc, char** argv, MPI_Comm comm, Options options = {}) {
  const auto file = input_value(argc, argv, "pillion.file", comm);
  return Session::open(file.empty() ? "pillion.yaml" : file, comm, options.deferred());
}

/// Sets parameters of the YAML file from `pillion.parameters.NAME`. Call it after
/// amrex::Initialize, and before the session is configured.
inline void set_parameters(Session& session) {
  std::string file;
  ::amrex::ParmParse("pillion").query("file", file);  // or AMReX reports that nothing read it
  const std::string prefix = "pillion.parameters";
  for (const auto& entry : ::amrex::ParmParse::getEntries(prefix)) {
    const auto name = entry.substr(prefix.size() + 1);
    std::string value;
    ::amrex::ParmParse(prefix).get(name.c_str(), value);
    session.set_parameter(name, value);
  }
}

}  // namespace pillion::amrex

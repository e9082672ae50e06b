// SPDX-License-Identifier: BSD-3-Clause
// Starting other programs from a process that is part of an MPI job. What the MPI library of the
// job left in the environment is not handed on, or the program would take itself for a rank of it.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace pillion::base {

/// This machine's name, as its users know it.
std::string host_name();

/// The words with which this process was started, with blanks between them; "" if unknown.
std::string command_line();

/// Starts a shell command without waiting for it, in a session of its own and in `folder`. Throws
/// ErrorCode::File if that cannot be done.
void start_detached(const std::string& command, const std::string& folder);

/// Runs a program with `input` on its standard input and returns what it wrote to its standard
/// output. Throws ErrorCode::File if it cannot be run, fails, or takes longer than `seconds`.
Bytes run_program(const std::vector<std::string>& words, const Bytes& input, double seconds);

}  // namespace pillion::base

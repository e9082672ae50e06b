// SPDX-License-Identifier: BSD-3-Clause
// What sidecars of another job will need, before there are any. Their stages are looked at in a
// process of their own, so that no library of a stage is ever loaded into the simulation, and none
// that is broken can hurt it.
#pragma once

#include "runtime/word.hpp"

namespace pillion::runtime {

/// The program that attaches sidecars to runs: PILLION_ATTACH, or the one installed or built with
/// this library. Throws ErrorCode::Configuration if there is none.
std::string attaching_program();

/// Asks that program. Throws what it says is wrong with the stages.
Crossing ask_needs(const Word& word);

/// What the program answers: reads a word from one descriptor, writes the answer to the other.
void answer_needs(int in, int out);

}  // namespace pillion::runtime

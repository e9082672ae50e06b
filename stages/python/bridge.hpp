// SPDX-License-Identifier: BSD-3-Clause
// What the plug-in asks of the module `pillion._stage`: the functions that do its work with the
// interpreter, in a capsule. Each takes the interpreter's lock itself, and lets no exception out.
#pragma once

#include <pillion/stage.h>

namespace pillion::python {

constexpr uint32_t bridge_version = 1;
constexpr const char* bridge_module = "pillion._stage";
constexpr const char* bridge_name = "pillion._stage.bridge";

struct Bridge {
  uint32_t version;
  int32_t (*create)(const pillion_stage_host* host, pillion_setup* setup, void** stage);
  int32_t (*run)(void* stage, pillion_work* work);
  int32_t (*finish)(void* stage, pillion_work* work);
  int32_t (*save)(void* stage, pillion_state* state);
  int32_t (*restore)(void* stage, pillion_state* state);
  void (*destroy)(void* stage);
};

// An interpreter of Python in this process: that of a simulation in Python, or one of our own,
// which is started when the first stage in Python is created, and never ended.

/// The bridge into the package `pillion`. Throws pillion::Error with what is missing and what to
/// do.
const Bridge& bridge();

}  // namespace pillion::python

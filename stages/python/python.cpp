// SPDX-License-Identifier: BSD-3-Clause
// The stage `python`: a function or class in Python as a stage. This plug-in only finds or starts
// the interpreter; what a stage in Python sees is made in python/core and python/pillion/insitu.
#include <pillion/stage.h>

#include <pillion/error.hpp>

#include "python/bridge.hpp"

namespace {

using pillion::python::bridge;

constexpr pillion_parameter parameters[] = {
    {"call", "text", nullptr,
     "FILE.py:NAME or MODULE:NAME, a function or class with the decorator pillion.stage; a file is "
     "looked for from the working folder, then from the folder of the configuration"},
    {"with", "map", "{}", "values of its parameters, by their names"},
    {"names", "map", "{}",
     "other names of fields than it was written with: {density: gas_density}, for fields that it "
     "reads or produces"}};

int32_t create(const pillion_stage_host* host, pillion_setup* setup, void** stage) {
  try {
    return bridge().create(host, setup, stage);
  } catch (const pillion::Error& error) {
    const auto place = host->value_place(host->value_find(host->parameters(setup), "call"));
    return host->fail(static_cast<int32_t>(error.code()),
                      (std::string(place) + ": " + error.what()).c_str());
  }
}

int32_t run(void* stage, pillion_work* work) { return bridge().run(stage, work); }
int32_t finish(void* stage, pillion_work* work) { return bridge().finish(stage, work); }
int32_t save(void* stage, pillion_state* state) { return bridge().save(stage, state); }
int32_t restore(void* stage, pillion_state* state) { return bridge().restore(stage, state); }
void destroy(void* stage) { bridge().destroy(stage); }

constexpr pillion_stage_sizes sizes = PILLION_STAGE_SIZES;
constexpr pillion_stage_table table = {PILLION_STAGE_ABI_VERSION,
                                       sizeof(pillion_stage_table),
                                       &sizes,
                                       "python",
                                       "A function or class in Python as a stage",
                                       parameters,
                                       std::size(parameters),
                                       0,
                                       create,
                                       run,
                                       finish,
                                       save,
                                       restore,
                                       destroy};

}  // namespace

extern "C" __attribute__((visibility("default"))) const pillion_stage_table* pillion_stage_describe(
    void) {
  return &table;
}

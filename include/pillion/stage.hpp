// SPDX-License-Identifier: BSD-3-Clause
// For authors of stages in C++: derive from pillion::stage::Stage, list the parameters, and say
// PILLION_STAGE(Class, "name", "one sentence", parameters) once. Everything here is inline over the
// C interface of stage.h, so that a plug-in and the library may come from different compilers.
//
// A stage is created, run once per publication of its analysis, and finished, always on every one
// of its peers. It is never called from two threads. Throw pillion::Error, or any exception, to
// fail.
#pragma once

#include <cstdint>
#include <iterator>
#include <pillion/stage/block.hpp>
#include <pillion/stage/bridge.hpp>
#include <pillion/stage/host.hpp>
#include <pillion/stage/setup.hpp>
#include <pillion/stage/state.hpp>
#include <pillion/stage/step.hpp>
#include <pillion/stage/table.hpp>
#include <pillion/stage/value.hpp>

/// Makes a plug-in of a Stage class. `parameters` is a static array of pillion_parameter.
#define PILLION_STAGE(Class, stage_name, stage_summary, stage_parameters)                        \
  extern "C" __attribute__((visibility("default"))) const pillion_stage_table*                   \
  pillion_stage_describe(void) {                                                                 \
    using Bridge_ = pillion::stage::Bridge<Class>;                                               \
    static const pillion_stage_sizes sizes = PILLION_STAGE_SIZES;                                \
    static const pillion_stage_table table = {PILLION_STAGE_ABI_VERSION,                         \
                                              sizeof(pillion_stage_table),                       \
                                              &sizes,                                            \
                                              stage_name,                                        \
                                              stage_summary,                                     \
                                              stage_parameters,                                  \
                                              static_cast<int32_t>(std::size(stage_parameters)), \
                                              0,                                                 \
                                              &Bridge_::create,                                  \
                                              &Bridge_::run,                                     \
                                              &Bridge_::finish,                                  \
                                              &Bridge_::save,                                    \
                                              &Bridge_::restore,                                 \
                                              &Bridge_::destroy};                                \
    return &table;                                                                               \
  }

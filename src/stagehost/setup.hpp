// SPDX-License-Identifier: BSD-3-Clause
// A stage being created: its parameters with every default filled in, and what it asks for.
#pragma once

#include <pillion/stage.h>

#include <map>
#include <string>
#include <vector>

#include "layout/request.hpp"
#include "model/configuration.hpp"
#include "stagehost/sink.hpp"

namespace pillion::stagehost {

/// A field that a stage produces: on the blocks of another, on those of an input, which is a
/// division, or on boxes that it chooses.
struct Output {
  std::string name;
  std::string like{};
  int32_t input = -1;
  bool of_boxes = false;
};

}  // namespace pillion::stagehost

/// The handle that a plug-in sees. It lives as long as the stage.
struct pillion_setup {
  pillion::base::Value parameters;
  pillion::model::Catalogue* catalogue = nullptr;  ///< with the fields of earlier stages
  std::vector<pillion::layout::Request> inputs{};
  std::vector<pillion::stagehost::Output> outputs{};
  bool requires_whole = false;  ///< coarse publications are of no use to the stage
  bool is_recoverable = false;  ///< a failed run leaves what the stage keeps as it was
  std::string stage{};
  bool in_separate_job = false;      ///< none of the simulation's ranks ever runs it
  double memory_per_input_byte = 0;  ///< that the stage takes beside its inputs and outputs
  int64_t memory = 0;                ///< bytes that it takes besides
  /// Of this stage and of those before it in the analysis.
  std::vector<pillion::stagehost::DeclaredProduct> products{};
  std::map<std::string, std::vector<const char*>> patches{};  ///< names by mesh, as described
};

namespace pillion::stagehost {

/// The parameters of a stage with defaults for missing ones. Throws configuration errors for
/// unknown and missing ones, or keeps them in `mistakes`.
base::Value complete_parameters(const model::StageSpec& spec, const pillion_stage_table& table,
                                base::Diagnostics* mistakes = nullptr);

void describe_field(pillion_setup& setup, const std::string& name, const base::Value* place,
                    pillion_field_description& description);

/// Checks a request against the catalogue and adds it; returns its number.
int32_t add_input(pillion_setup& setup, const pillion_input_request& request);

/// Checks an output against the catalogue, which then has it; returns its number.
int32_t add_output(pillion_setup& setup, const pillion_output& wanted);

/// Adds memory that the stage takes on each peer. Throws for negative values.
void add_memory(pillion_setup& setup, double per_input_byte, int64_t bytes);

/// Throws a configuration error unless the stage runs in a job without ranks of the simulation.
void expect_separate_job(const pillion_setup& setup, const base::Value* place);

/// Throws a configuration error if an earlier stage of the analysis declares the same one.
void add_product(pillion_setup& setup, const std::string& name);

void describe_mesh(pillion_setup& setup, const std::string& name, const base::Value* place,
                   pillion_field_description& description);

}  // namespace pillion::stagehost

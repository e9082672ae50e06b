// SPDX-License-Identifier: BSD-3-Clause
// Reading options. Codes pass the scripts that their user names to Catalyst, so a script with the
// ending of YAML is Pillion's configuration.
#include "options.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <pillion/error.hpp>

namespace pillion::catalyst {

namespace {

bool is_yaml(const std::string& file) { return file.ends_with(".yaml") || file.ends_with(".yml"); }

/// The file of a script, which is a text or has a member `filename`.
std::string file_of(const Node& script) {
  if (script.is_text()) return script.text();
  const auto file = script.find("filename");
  return file && file->is_text() ? file->text() : std::string();
}

void read_scripts(const Node& scripts, Options& options) {
  for (const auto& script : scripts.children()) {
    const std::string file = file_of(script);
    if (file.empty()) continue;
    if (!is_yaml(file)) options.others.push_back(file);
    else if (options.file.empty()) options.file = file;
    else
      throw Error(ErrorCode::Configuration,
                  fmt::format("'catalyst/scripts' names two files for Pillion, '{}' and '{}'; put "
                              "all analyses in one",
                              options.file, file));
  }
}

std::string value_of(const Node& node) {
  if (node.is_text()) return node.text();
  const Array value = node.array();
  if (value.count != 1)
    throw Error(ErrorCode::Configuration,
                fmt::format("'{}' must be one text or number", node.path()));
  return value.is_real() ? fmt::format("{:.17g}", value.real(0)) : std::to_string(value.integer(0));
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::optional<int64_t> read_communicator(const Node& params) {
  for (const char* path : {"catalyst/mpi_comm", "mpi_comm"})
    if (const auto handle = params.find(path)) return handle->integer();
  return {};
}

Options read_options(const Node& params) {
  Options options;
  if (const auto file = params.find("catalyst/pillion/file")) options.file = file->text();
  if (const auto scripts = params.find("catalyst/scripts"))
    if (options.file.empty()) read_scripts(*scripts, options);
  if (const auto values = params.find("catalyst/pillion/parameters"))
    for (const auto& value : values->children())
      options.parameters.emplace_back(value.name(), value_of(value));
  if (const auto path = params.find("catalyst/pillion/restart")) options.restart = path->text();
  if (const auto levels = params.find("catalyst/pillion/levels"))
    options.levels = levels->integer();
  const auto ranks = params.find("catalyst/pillion/ranks");
  const char* wanted = std::getenv("PILLION_CATALYST_RANKS");
  const std::string text = wanted != nullptr ? wanted : ranks ? ranks->text() : "communicator";
  if (text != "communicator" && text != "world")
    throw Error(ErrorCode::Configuration,
                fmt::format("the session's ranks are '{}'; set 'communicator' or 'world'", text));
  options.is_in_world = text == "world";
  options.communicator = read_communicator(params);
  // The library itself reads that variable.
  if (options.file.empty() && !is_set("PILLION_CONFIGURATION"))
    throw Error(ErrorCode::Configuration,
                "no configuration for Pillion: name a YAML file in 'catalyst/pillion/file' or "
                "'catalyst/scripts', or in the environment variable PILLION_CONFIGURATION");
  return options;
}

StepAndTime read_step(const Node& params, int64_t next) {
  const auto first = [&](std::initializer_list<const char*> paths) -> std::optional<Node> {
    for (const char* path : paths)
      if (const auto found = params.find(path); found && found->is_number()) return found;
    return {};
  };
  const auto step = first(
      {"catalyst/state/timestep", "catalyst/state/cycle", "catalyst/timestep", "catalyst/cycle"});
  const auto time = first({"catalyst/state/time", "catalyst/time"});
  StepAndTime out;
  out.step = step ? step->integer() : next;
  out.time = time ? time->real() : static_cast<double>(out.step);
  return out;
}

pillion_domain read_domain(const Node& domain) {
  pillion_domain out{};
  const Array lo = domain.at("lo").array(), hi = domain.at("hi").array();
  const auto periodic = domain.find("periodic");
  const Array wraps = periodic ? periodic->array() : Array{};
  for (size_t d = 0; d < 3; ++d) {
    const auto axis = static_cast<int64_t>(d);
    out.lo[d] = axis < lo.count ? lo.real(axis) : 0;
    out.hi[d] = axis < hi.count ? hi.real(axis) : 1;
    out.periodic[d] = axis < wraps.count && wraps.integer(axis) != 0 ? 1 : 0;
  }
  return out;
}

}  // namespace pillion::catalyst

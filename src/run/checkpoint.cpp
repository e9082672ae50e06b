// SPDX-License-Identifier: BSD-3-Clause
// Manifests as YAML.
#include "run/checkpoint.hpp"

#include <pillion/version.h>

#include "base/json.hpp"

namespace pillion::run {

std::string format_manifest(const Manifest& manifest) {
  std::string text = fmt::format(
      "pillion: checkpoint 1\nversion: {}\nruns: [{}]\nstep: {}\ntime: {}\noffset: {}\n"
      "analyses:{}\n",
      PILLION_VERSION, base::json_list(manifest.runs), manifest.step, manifest.time,
      manifest.offset, manifest.analyses.empty() ? " {}" : "");
  for (const auto& [name, memory] : manifest.analyses)
    text += fmt::format("  {}: {{reached: {}, fired: {}, skipped: {}}}\n", base::json_text(name),
                        memory.reached ? std::to_string(*memory.reached) : "null", memory.fired,
                        memory.skipped);
  return text;
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const base::Value root = base::parse_yaml(text, file, {});
  base::Reader reader(root, "the manifest");
  if (reader.require("pillion").as_text() != "checkpoint 1")
    root.fail("this is no checkpoint of this version");
  reader.find("version");
  Manifest manifest;
  if (const auto* runs = reader.find("runs"))
    for (const auto& [key, run] : runs->entries) manifest.runs.push_back(run.as_text());
  manifest.step = reader.require("step").as_integer();
  manifest.time = reader.require("time").as_real();
  manifest.offset = reader.require("offset").as_integer();
  for (const auto& [name, value] : reader.require("analyses").entries) {
    base::Reader inner(value, "'" + name + "'");
    ScheduleState memory;
    if (const auto* reached = inner.find("reached")) memory.reached = reached->as_integer();
    memory.fired = inner.require("fired").as_boolean();
    memory.skipped = inner.require("skipped").as_integer();
    inner.finish();
    manifest.analyses[name] = memory;
  }
  reader.finish();
  return manifest;
}

}  // namespace pillion::run

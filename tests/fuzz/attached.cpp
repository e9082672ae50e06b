// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what an attached job writes on the control page of its slot. The first byte selects
// whether the rest is that itself, or changes to what a job writes.
#include "base/value.hpp"
#include "input.hpp"
#include "run/attached_job.hpp"

using namespace pillion;

namespace {

base::Bytes good_request() {
  run::AttachedJob job;
  job.name = "extra";
  job.file = "extra.yaml";
  job.text =
      "analyses: {spread: {every: 2 steps, when: max(d) > $most, stages: [histogram: {field: d, "
      "bins: 4}]}}\n";
  job.parameters = {{"most", "5"}};
  job.needs = {{{"d"}, "histogram"}};
  return base::to_bytes(job);
}

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes:\n  g: {kind: uniform, cells: [4]}\nfields:\n  d: {mesh: g, type: float64}\n",
      "catalogue", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  static const auto good = good_request();
  static const auto known = catalogue();
  const bool as_it_is = fuzz::take<uint8_t>(input) % 2 == 1;
  auto request = fuzz::changed(good, as_it_is ? fuzz::Input() : input);
  const auto* begin = reinterpret_cast<const std::byte*>(input.data());
  if (as_it_is) request.assign(begin, begin + input.size());
  fuzz::accept_all_errors([&] {
    const auto job = base::from_bytes<run::AttachedJob>(request);
    (void)job.analyses(known, {"taken"});
  });
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a saved state. If the first byte is even, the rest is the text of a manifest, else
// changes to a file with the state of a stage.
#include "run/saved_state.hpp"

#include "input.hpp"
#include "stagehost/state.hpp"

using namespace pillion;

namespace {

base::Bytes good_state() {
  pillion_state state;
  state.globals["count"] = base::to_bytes(int64_t{7});
  state.keyed["sums"] = {{1, 5, 9}, 8, base::Bytes(24)};
  return base::to_bytes(state);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  if (fuzz::take<uint8_t>(input) % 2 == 0) {
    fuzz::accept_errors([&] {
      const auto state = run::parse_manifest(fuzz::text(input), "manifest.yaml");
      run::parse_manifest(run::format_manifest(state), "again.yaml");
    });
    return 0;
  }
  fuzz::accept_all_errors(
      [&] { base::from_bytes<pillion_state>(fuzz::changed(good_state(), input)); });
  return 0;
}

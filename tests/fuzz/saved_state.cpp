// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a saved state. If the first byte is even, the rest is the text of a manifest, else
// changes to a file with the state of a stage.
#include "run/saved_state.hpp"

#include <unistd.h>

#include <filesystem>

#include "input.hpp"
#include "products/whole_file.hpp"
#include "stagehost/state.hpp"

using namespace pillion;
namespace fs = std::filesystem;

namespace {

base::Bytes good_file() {
  pillion_state state;
  state.globals["count"] = base::to_bytes(int64_t{7});
  state.keyed["sums"] = {{1, 5, 9}, 8, base::Bytes(24)};
  const auto text = stagehost::format_state_file(0, 1, {stagehost::part_of(state, true)});
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// Reads a state file of these bytes.
void read_file(const base::Bytes& bytes) {
  static const fs::path folder =
      fs::temp_directory_path() / ("pillion-fuzz-" + std::to_string(::getpid()));
  products::write_whole(stagehost::state_file(folder, 0),
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, false);
  try {
    const stagehost::StateFile file(folder, 0);
    for (const auto& chunk : file.index().chunks) (void)file.read(chunk);
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
  fs::remove_all(folder);
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
  fuzz::accept_errors([&] { read_file(fuzz::changed(good_file(), input)); });
  return 0;
}

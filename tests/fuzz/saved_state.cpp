// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a saved state. The first byte selects what the rest is: the text of a manifest, or
// changes to a good manifest or to a good file with the state of a stage. Checksums find nearly all
// damage, so most inputs get right ones afterwards, and the readers behind them see the damage.
#include "run/saved_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/checksum.hpp"
#include "input.hpp"
#include "products/whole_file.hpp"
#include "stagehost/state.hpp"

using namespace pillion;
namespace fs = std::filesystem;

namespace {

base::Bytes bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// A manifest without its last line.
std::string good_manifest() {
  run::SavedState state;
  state.runs = {"00000000000000aa"};
  state.step = 40;
  state.time = 2.5;
  auto& sums = state.analyses["sums"];
  sums.schedule.reached = 40;
  sums.schedule.fired = true;
  sums.counts.lost = 2;
  sums.meshes["m"] = "uniform mesh of 8 cells";
  sums.over = 3;
  sums.products = {{"sums", "statistics", "t", "sums/t.csv", "Title", 1}};
  const auto text = run::format_manifest(state);
  return text.substr(0, text.rfind("checksum"));
}

/// With its last line, the checksum.
std::string sealed(const std::string& manifest) {
  return manifest +
         fmt::format("checksum: \"{:08x}\"\n", base::crc32c(manifest.data(), manifest.size()));
}

base::Bytes good_file() {
  pillion_state state;
  state.globals["count"] = base::to_bytes(int64_t{7});
  state.keyed["sums"] = {{1, 5, 9}, 8, base::Bytes(24)};
  return bytes_of(stagehost::format_state_file(0, 1, {stagehost::part_of(state, true)}));
}

/// Sets the checksums of a state file, as far as there are any, to those of what it contains.
base::Bytes sealed(base::Bytes file) {
  constexpr size_t head =
      20;  // bytes; the last four are the checksum of those before and the index
  uint64_t size = 0;
  if (file.size() >= head) std::memcpy(&size, file.data() + 8, sizeof size);
  if (file.size() < head || size > file.size() - head) return file;
  try {
    auto index = base::from_bytes<stagehost::StateIndex>(
        base::Bytes(file.data() + head, file.data() + head + size));
    for (auto& chunk : index.chunks) {
      const auto offset = static_cast<uint64_t>(chunk.offset);
      const auto length = static_cast<uint64_t>(chunk.size);
      if (offset <= file.size() && length <= file.size() - offset)
        chunk.checksum = base::crc32c(file.data() + offset, length);
    }
    const auto bytes = base::to_bytes(index);
    std::copy_n(bytes.begin(), std::min(bytes.size(), static_cast<size_t>(size)),
                file.begin() + head);
  } catch (const Error&) {}
  const uint32_t first = base::crc32c(file.data(), 16);
  const uint32_t checksum = base::crc32c(file.data() + head, size, first);
  std::memcpy(file.data() + 16, &checksum, sizeof checksum);
  return file;
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

/// Reads a manifest. What is written of it must be the same when it is read again.
void read_text(const std::string& text) {
  const auto state = run::parse_manifest(sealed(text), "manifest.yaml");
  const auto again = run::format_manifest(state);
  try {
    if (run::format_manifest(run::parse_manifest(again, "again.yaml")) == again) return;
  } catch (const Error&) {}
  std::abort();
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  static const auto manifest = bytes_of(good_manifest());
  const auto kind = fuzz::take<uint8_t>(input) % 4;
  fuzz::accept_errors([&] {
    if (kind == 0) return read_text(fuzz::text(input));
    if (kind == 1) return read_file(fuzz::changed(good_file(), input));
    if (kind == 2) return read_file(sealed(fuzz::changed(good_file(), input)));
    const auto changed = fuzz::changed(manifest, input);
    read_text({reinterpret_cast<const char*>(changed.data()), changed.size()});
  });
  return 0;
}

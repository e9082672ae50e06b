// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the text of an IDX dataset, and, after a NUL character, the file of its blocks. What
// can be read of the first field is read at the coarsest levels.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <pillion/idx/reader.hpp>

#include "input.hpp"

using namespace pillion;

namespace {

/// A file in memory, with a path while it is there.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : file_(memfd_create("blocks", MFD_CLOEXEC)) {
    if (write(file_, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// Sizes that the text alone may claim, and which would take long.
bool is_small(const idx::Dataset& dataset, const idx::Grid& grid) {
  constexpr int64_t most = int64_t{1} << 16;
  const auto sample = static_cast<int64_t>(dataset.fields[0].sample_size());
  return dataset.bits_per_block <= 12 && sample <= 64 &&
         std::ranges::all_of(grid.extent, [](int64_t n) { return n <= most; }) &&
         grid.samples() <= most;
}

void read_some(const idx::Reader& reader) {
  const auto& dataset = reader.dataset();
  for (const int64_t step : {reader.steps().front(), reader.steps().back()})
    for (int level = 0; level <= std::min(dataset.finest(), 8); ++level) {
      const idx::Query query{0, step, dataset.lo, dataset.hi};
      const auto grid = reader.grid(query, level);
      if (!is_small(dataset, grid)) return;
      std::vector<std::byte> values(static_cast<size_t>(grid.samples()) *
                                    dataset.fields[0].sample_size());
      reader.read(query, level, values.data());
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto whole = fuzz::text({data, size});
  const auto end = std::min(whole.find('\0'), whole.size());
  const MemoryFile blocks(whole.substr(std::min(end + 1, whole.size())));
  auto text = whole.substr(0, end);
  // The text cannot know the path.
  if (const auto at = text.find("BLOCKS"); at != std::string::npos)
    text.replace(at, 6, blocks.path());
  fuzz::accept_errors([&] {
    const auto parsed = idx::Dataset::parse(text, "fuzz.idx");
    // Every step is a folder, and files whose paths begin elsewhere are no business of this.
    if (parsed.files != blocks.path()) return;
    const idx::Reader reader("/nowhere/fuzz.idx", text);
    read_some(reader);
    if (parsed.mask.bits() - parsed.bits_per_block <= 10)
      reader.expect_whole(0, reader.steps().front());
  });
  fuzz::accept_errors([&] {
    const auto parsed = idx::Dataset::parse(text, "fuzz.idx");
    if (parsed.times.steps.size() > 1000) return;
    const auto again = idx::Dataset::parse(parsed.text(), "again.idx");
    if (again.fields != parsed.fields || again.times.steps != parsed.times.steps) std::abort();
  });
  return 0;
}

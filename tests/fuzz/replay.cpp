// SPDX-License-Identifier: BSD-3-Clause
// Calls a fuzz target with every file of its corpus, in builds without libFuzzer. Each was an input
// that reached a new place in the code, or once a defect.
//   fuzz_NAME FILE_OR_FOLDER...
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "input.hpp"

namespace fs = std::filesystem;

namespace {

bool passes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0, failures = 0;
  const auto replay = [&](const fs::path& path) {
    ++files;
    failures += passes(path) ? 0 : 1;
  };
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      replay(argv[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) replay(entry.path());
  }
  std::printf("%d inputs, %d failures\n", files, failures);
  return files == 0 || failures > 0 ? 1 : 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Reading it.
#include "replay/raw_index.hpp"

#include <algorithm>
#include <filesystem>

#include "replay/raw_yaml.hpp"

namespace replay {
namespace {

using Numbers = std::vector<int64_t>;

std::optional<pillion_domain> domain_in(const YAML::Node& index) {
  const auto told = index["domain"];
  if (!told) return {};
  pillion_domain out{};
  for (size_t d = 0; d < 3; ++d) {
    out.lo[d] = told["lo"][d].as<double>();
    out.hi[d] = told["hi"][d].as<double>();
    out.tilt[d] = told["tilt"][d].as<double>();
    out.periodic[d] = told["periodic"][d].as<bool>() ? 1 : 0;
  }
  if (told["dimensions"]) out.dimensions = told["dimensions"].as<int32_t>();
  return out;
}

/// Files are named as seen from the folder of the .raw.yaml, which is that above the index.
std::vector<RawBlock> blocks_in(const YAML::Node& index, const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().parent_path();
  std::vector<RawBlock> out;
  int64_t before = 0;
  for (const auto& node : index["blocks"]) {
    RawBlock block{(folder / node["file"].as<std::string>()).string(), {}, {}, {}};
    const auto count = node["count"].as<int64_t>();
    if (node["lo"]) {
      block.lo = node["lo"].as<Numbers>();
      block.hi = node["hi"].as<Numbers>();
      std::reverse(block.lo.begin(), block.lo.end());
      std::reverse(block.hi.begin(), block.hi.end());
    } else {
      block.lo = {before};
      block.hi = {before + count};
    }
    before += count;
    block.offsets = node["offsets"].as<Numbers>();
    out.push_back(std::move(block));
  }
  return out;
}

}  // namespace

RawIndex read_raw_index(const std::string& path) {
  return from_yaml(path, [&](const YAML::Node& index) {
    return RawIndex{blocks_in(index, path), domain_in(index)};
  });
}

const std::vector<RawBlock>& RawBlocks::of(const std::string& index) {
  if (index_ != index) blocks_ = read_raw_index(index).blocks;
  index_ = index;
  return blocks_;
}

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// What raw files hold, and putting blocks together.
#include "replay/raw.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "replay/array.hpp"
#include "replay/npy.hpp"
#include "replay/raw_yaml.hpp"

namespace replay {
namespace {

namespace fs = std::filesystem;

using Numbers = std::vector<int64_t>;

/// The head's cells, first axis first, as an array is indexed; none of particles.
Numbers extents_in(const YAML::Node& head) {
  Numbers cells;
  if (const auto listed = head["mesh"]["cells"]) cells = listed.as<Numbers>();
  std::reverse(cells.begin(), cells.end());
  return cells;
}

/// With all its components.
Part part_of_block(const Stored& stored, const RawBlock& block) {
  Part out{block.lo, block.hi};
  if (stored.shape.size() > block.lo.size()) {
    out.lo.push_back(0);
    out.hi.push_back(stored.shape.back());
  }
  return out;
}

void check_blocks(const std::vector<RawBlock>& blocks, const Stored& stored) {
  int64_t found = 0, wanted = 1;
  for (const int64_t extent : stored.shape) wanted *= extent;
  for (const auto& block : blocks) {
    const auto column = static_cast<size_t>(stored.column);
    const int64_t count = part_of_block(stored, block).count();
    if (block.offsets.size() <= column || count < 0)
      fail_to_read(stored.path, fmt::format("a block of '{}' makes no sense", block.file));
    std::error_code error;
    const auto size = fs::file_size(block.file, error);
    const auto end = block.offsets[column] + count * static_cast<int64_t>(size_of(*stored.number));
    if (error) fail_to_read(block.file, error.message());
    if (end > static_cast<int64_t>(size))
      fail_to_read(block.file,
                   fmt::format("it is cut short: it has {} bytes, of which field '{}' needs {}",
                               size, stored.dataset, end));
    found += count;
  }
  if (found != wanted)
    fail_to_read(stored.path,
                 fmt::format("its blocks have {} values of field '{}', and the mesh {}", found,
                             stored.dataset, wanted));
}

/// NumPy's name of a type, and all that follows from the head.
Stored describe(const YAML::Node& field, const Numbers& extents, int64_t column) {
  Stored out;
  out.format = Format::Raw;
  out.dataset = field["name"].as<std::string>();
  read_npy_type(field["type"].as<std::string>(), out);
  out.shape = extents;
  if (const auto components = field["components"].as<int64_t>(); components > 1)
    out.shape.push_back(components);
  out.column = column;
  return out;
}

/// What a step says of its own: where its blocks are, how many particles it has and their domain.
void complete(std::vector<Stored>& fields, const std::string& path, bool is_mesh) {
  const auto index = read_raw_index(path);
  const int64_t particles = index.blocks.empty() ? 0 : index.blocks.back().hi.back();
  for (auto& field : fields) {
    field.path = path;
    field.domain = index.domain;
    if (!is_mesh) field.shape.insert(field.shape.begin(), particles);
    if (field.number) check_blocks(index.blocks, field);
  }
}

/// Copies a box out of dense values of `from` into dense values of `to`, which has all of it.
void put(const std::byte* values, const Part& from, const Part& to, size_t size, std::byte* all) {
  std::vector<int64_t> extents;
  Part inner = from;
  for (size_t d = 0; d < to.lo.size(); ++d) {
    extents.push_back(to.hi[d] - to.lo[d]);
    inner.lo[d] -= to.lo[d];
    inner.hi[d] -= to.lo[d];
  }
  for (const Run& run : runs_of(extents, inner)) {
    const auto bytes = static_cast<size_t>(run.count) * size;
    std::memcpy(all + static_cast<size_t>(run.begin) * size, values, bytes);
    values += bytes;
  }
}

}  // namespace

std::vector<StoredStep> look_into_raw(const std::string& path, const Wanted& wanted) {
  return from_yaml(path, [&](const YAML::Node& head) {
    const auto extents = extents_in(head);
    std::vector<Stored> fields;
    int64_t column = 0;
    for (const auto& field : head["fields"])
      if (auto stored = describe(field, extents, column++); wanted.field(stored.dataset))
        fields.push_back(std::move(stored));
    std::vector<StoredStep> out;
    for (const auto& node : head["steps"]) {
      if (!wanted.step(node["step"].as<int64_t>())) continue;
      auto& step = out.emplace_back(StoredStep{.step = node["step"].as<int64_t>(),
                                               .time = node["time"].as<double>(),
                                               .fields = fields,
                                               .coarsening = node["coarsening"].as<int64_t>()});
      if (step.coarsening > 1) continue;
      const auto index = fs::path(path).parent_path() / node["index"].as<std::string>();
      complete(step.fields, index.string(), !extents.empty());
    }
    return out;
  });
}

void read_raw(const std::vector<RawBlock>& blocks, const Stored& stored, const Part& part,
              pillion_type type, std::byte* to) {
  std::vector<std::byte> values;
  for (const auto& block : blocks) {
    const Part whole = part_of_block(stored, block);
    Part common = part, within = part;
    std::vector<int64_t> extents;
    bool is_touched = true;
    for (size_t d = 0; d < part.lo.size(); ++d) {
      common.lo[d] = std::max(part.lo[d], whole.lo[d]);
      common.hi[d] = std::min(part.hi[d], whole.hi[d]);
      is_touched = is_touched && common.lo[d] < common.hi[d];
      within.lo[d] = common.lo[d] - whole.lo[d];
      within.hi[d] = common.hi[d] - whole.lo[d];
      extents.push_back(whole.hi[d] - whole.lo[d]);
    }
    if (!is_touched) continue;
    Stored array = stored;
    array.path = block.file;
    array.offset = block.offsets[static_cast<size_t>(stored.column)];
    values.resize(static_cast<size_t>(common.count()) * size_of(type));
    read_array(array, extents, within, type, values.data());
    put(values.data(), common, part, size_of(type), to);
  }
}

}  // namespace replay

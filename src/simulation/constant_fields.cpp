// SPDX-License-Identifier: BSD-3-Clause
// Copies and samples of constant fields.
#include "simulation/constant_fields.hpp"

#include <algorithm>
#include <utility>

#include "base/checksum.hpp"
#include "base/copy.hpp"

namespace pillion::simulation {

namespace {

/// Programs may have memory of the session's for the same block.
std::string name_of_copy(const std::string& field) { return field + "/copy"; }

/// A few values, evenly spread over the array.
uint32_t checksum_of(const model::Array& array, const model::Box& of_block) {
  constexpr int64_t most = 16;
  const auto box = model::box_of(array, of_block);
  const size_t size = model::size_of(array.type);
  const int64_t cells = box.volume(), count = std::min(cells, most);
  uint32_t checksum = 0;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t cell = n * (cells - 1) / std::max<int64_t>(count - 1, 1);
    const int64_t i = cell % box.extent(0), j = cell / box.extent(0) % box.extent(1),
                  k = cell / (box.extent(0) * box.extent(1));
    const int64_t at = i * array.strides[0] + j * array.strides[1] + k * array.strides[2] +
                       array.component_at(static_cast<int32_t>(n % array.components));
    checksum =
        base::crc32c(static_cast<const std::byte*>(array.data) + at * static_cast<int64_t>(size),
                     size, checksum);
  }
  return checksum;
}

}  // namespace

std::vector<std::string> ConstantFields::prepare(const std::vector<size_t>& due,
                                                 const run::CutFields& cut_fields) {
  std::vector<std::string> out;
  for (const auto& field : catalogue_.constant_fields()) {
    const bool is_needed = std::any_of(due.begin(), due.end(), [&](size_t a) {
      return cut_fields[a].fields.contains(field->name);
    });
    if (!is_needed) continue;
    // All components of another field must have the same strides, so only that field is copied.
    if (allocations_.are_shared() && catalogue_.assembled_from(field->name).empty()) {
      std::set<int32_t> refused;
      for (const int32_t block : sharing_.take_new_blocks(field->name)) {
        const auto why = copy(*field, block);
        if (why.empty()) continue;
        refused.insert(block);
        if (!std::exchange(was_refused_, true))
          out.push_back("constant fields are copied with each publication: " + why);
      }
      if (!refused.empty()) sharing_.put_back_new_blocks(field->name, refused);
    }
    if (has_changed(field->name))
      out.push_back(
          fmt::format("field '{}' is constant according to the catalogue, but values of "
                      "it have changed; analyses see the old ones. Leave 'constant' out",
                      field->name));
  }
  return out;
}

std::string ConstantFields::copy(const model::Field& field, int32_t block) {
  const auto given = sharing_.find_given(field.name, block);
  if (!given || given->block != block || given->box.volume() == 0) return {};
  if (allocations_.holds(given->array->data)) return {};  // as good as a copy
  model::Array array = *given->array;
  const auto box = model::box_of(array, given->box);
  const auto name = name_of_copy(field.name);
  const size_t bytes = model::bytes_of(array, given->box);
  allocations_.free(name, block);
  try {
    auto* const to = static_cast<std::byte*>(allocations_.allocate_constant(name, block, bytes));
    model::pack(array, box, to, base::Copy::Streaming);
    array.data = to;
  } catch (const Error& e) {
    return e.what();
  }
  base::count_copy(base::CopyKind::Pack, bytes);
  array.offsets.clear();
  array.strides = model::packed_strides(box, array.components);
  sharing_.put_copy(field.name, block, array);
  return {};
}

void ConstantFields::forget(const std::string& field, int32_t block) {
  const auto* known = catalogue_.find_field(field);
  if (known == nullptr || !known->is_constant) return;
  allocations_.free(name_of_copy(field), block);
  if (const auto at = samples_.find(field); at != samples_.end()) at->second.blocks.erase(block);
}

bool ConstantFields::has_changed(const std::string& field) {
  auto& samples = samples_[field];
  if (samples.have_changed) return false;
  auto given = sharing_.find_given(field, samples.next);
  if (!given) given = sharing_.find_given(field, 0);
  if (!given) return false;
  samples.next = given->block + 1;
  auto& sample = samples.blocks[given->block];
  const Sample now{given->version, checksum_of(*given->array, given->box)};
  samples.have_changed = sample.version == now.version && sample.checksum != now.checksum;
  sample = now;
  return samples.have_changed;
}

}  // namespace pillion::simulation

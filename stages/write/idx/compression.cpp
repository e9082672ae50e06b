// SPDX-License-Identifier: BSD-3-Clause
// Choice of a codec for each field, and zfp streams of blocks.
#include "compression.hpp"

#include <lz4.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/runs.hpp>
#include <pillion/idx/zfp.hpp>

#include "../../common/options.hpp"

namespace pillion::stages::write_idx {

namespace {

// Only the bits of the block's own grid tell its samples apart: they are a bitmask for themselves.
idx::Bitmask mask_within(const idx::Dataset& dataset, int64_t block) {
  const int bits = dataset.bits_per_block;
  const int last = block == 0 ? bits : idx::Bitmask::level_of(block << bits) - 1;
  return idx::Bitmask("V" + dataset.mask.text().substr(static_cast<size_t>(last - bits + 1),
                                                       static_cast<size_t>(bits)));
}

template <class Sample>
std::vector<std::byte> in_rows(const idx::Dataset& dataset, int64_t block, const idx::Grid& grid,
                               std::span<const std::byte> bytes) {
  const auto mask = mask_within(dataset, block);
  const idx::Offsets offsets(mask, mask.bits(),
                             {1, grid.extent[0], grid.extent[0] * grid.extent[1]});
  std::vector<std::byte> out(bytes.size());
  const auto* from = reinterpret_cast<const Sample*>(bytes.data());
  auto* to = reinterpret_cast<Sample*>(out.data());
  for (int64_t place = 0; place < grid.samples(); ++place)
    to[offsets[block == 0 ? mask.z_of(place) : place]] = from[place];
  return out;
}

/// Samples beyond the mesh become as the last ones within it: steps would cost bits.
template <class Sample>
void fill_beyond(const idx::Dataset& dataset, const idx::Grid& grid, std::vector<std::byte>& rows) {
  idx::Point last{};  // within the mesh
  for (size_t a = 0; a < 3; ++a)
    last[a] = std::min(grid.extent[a] - 1, (dataset.hi[a] - 1 - grid.origin[a]) / grid.stride[a]);
  auto* samples = reinterpret_cast<Sample*>(rows.data());
  const auto row = [&](int64_t j, int64_t k) {
    return samples + grid.extent[0] * (j + grid.extent[1] * k);
  };
  for (int64_t k = 0; k < grid.extent[2]; ++k)
    for (int64_t j = 0; j < grid.extent[1]; ++j) {
      const auto* from = row(std::min(j, last[1]), std::min(k, last[2]));
      auto* to = row(j, k);
      if (from != to) std::copy_n(from, last[0] + 1, to);
      std::fill(to + last[0] + 1, to + grid.extent[0], from[last[0]]);
    }
}

template <class Sample>
std::vector<std::byte> packed_in_rows(const idx::Dataset& dataset, const idx::Field& field,
                                      int64_t block, std::span<const std::byte> bytes) {
  const auto grid = idx::grid_of(dataset, block);
  auto rows = in_rows<Sample>(dataset, block, grid, bytes);
  fill_beyond<Sample>(dataset, grid, rows);
  return idx::zfp_encoded(dataset, field, block, rows);
}

/// Empty if the block must be stored as it is.
std::vector<std::byte> zfp_packed(const idx::Dataset& dataset, const idx::Field& field,
                                  int64_t block, std::span<const std::byte> bytes) {
  if (field.sample_size() == 4) return packed_in_rows<uint32_t>(dataset, field, block, bytes);
  return packed_in_rows<uint64_t>(dataset, field, block, bytes);
}

void set_tolerance(const stage::Value& value, idx::ZfpLoss& loss) {
  loss.tolerance = value.real();
  if (!(loss.tolerance > 0) || !std::isfinite(loss.tolerance))
    value.fail("a tolerance is the largest absolute error, above 0, not " + value.text());
}

void set_precision(const stage::Value& value, idx::ZfpLoss& loss) {
  const int64_t bits = value.integer();
  if (bits < 1 || bits > 64)
    value.fail("a precision is a number of bits from 1 to 64, not " + value.text());
  loss.precision = static_cast<int>(bits);
}

}  // namespace

BlockCompression::BlockCompression(const stage::Value& value, const write::WrittenFields& fields)
    : losses_(fields.names.size()) {
  if (!value.is_map()) {
    constexpr idx::Codec codecs[] = {idx::Codec::raw, idx::Codec::zip, idx::Codec::lz4,
                                     idx::Codec::zfp};
    codec_ = codecs[choice(value, {"none", "zip", "lz4", "zfp"})];
  } else {
    only_keys(value, {"zfp"});
    if (value.size() != 1) value.fail("expected the name of a compression");
    codec_ = idx::Codec::zfp;
    read_losses(value[0], fields);
  }
  if (codec_ == idx::Codec::zfp) check_zfp(value, fields);
}

// The format's usual reader crashes at zfp streams of one axis. Its axes are those of the bitmask,
// which has no bits for an axis with a single cell.
void BlockCompression::check_zfp(const stage::Value& value,
                                 const write::WrittenFields& fields) const {
  if (!idx::has_zfp())
    value.fail(
        "this build of Pillion is without zfp; build it where the library is found, or "
        "choose zip or lz4");
  for (size_t f = 0; f < fields.names.size(); ++f) {
    const auto type = fields.fields[f].type;
    if (!stage::is_real(type) && type != PILLION_INT32 && type != PILLION_INT64)
      value.fail("field '" + fields.names[f] +
                 "' has small or unsigned integers, and zfp takes int32, int64, float32 and "
                 "float64; choose zip or lz4");
  }
  const auto& mesh = fields.mesh();
  if (std::none_of(mesh.cells + 1, mesh.cells + mesh.axes, [](int64_t n) { return n > 1; }))
    value.fail("zfp needs a mesh with cells along its second or third axis; choose zip or lz4");
}

void BlockCompression::read_losses(const stage::Value& limits, const write::WrittenFields& fields) {
  if (!limits.is_map() || limits.size() == 0)
    limits.fail("expected {tolerance: …} or {precision: …}; `compression: zfp` loses nothing");
  only_keys(limits, {"tolerance", "precision"});
  for (int64_t i = 0; i < limits.size(); ++i)
    read_limit(limits[i], fields, limits.key(i) == "tolerance" ? set_tolerance : set_precision);
}

template <class Set>
void BlockCompression::read_limit(const stage::Value& limit, const write::WrittenFields& fields,
                                  Set&& set) {
  const auto give = [&](const stage::Value& value, size_t field) {
    if (losses_[field] != idx::ZfpLoss{})
      value.fail("field '" + fields.names[field] + "' can have a tolerance or a precision");
    set(value, losses_[field]);
  };
  if (!limit.is_map()) {
    for (size_t f = 0; f < fields.names.size(); ++f)
      if (stage::is_real(fields.fields[f].type)) give(limit, f);
    return;
  }
  for (int64_t i = 0; i < limit.size(); ++i) {
    const auto at = std::find(fields.names.begin(), fields.names.end(), limit.key(i));
    if (at == fields.names.end())
      limit[i].fail("field '" + limit.key(i) + "' is not one of the written fields");
    const auto field = static_cast<size_t>(at - fields.names.begin());
    if (!stage::is_real(fields.fields[field].type))
      limit[i].fail("field '" + *at + "' has integers, and zfp stores integers without loss");
    give(limit[i], field);
  }
}

std::vector<std::byte> packed(const idx::Dataset& dataset, const idx::Field& field, int64_t block,
                              std::span<const std::byte> bytes) {
  if (field.codec == idx::Codec::zfp) return zfp_packed(dataset, field, block, bytes);
  std::vector<std::byte> out(bytes.size());
  size_t size = 0;
  if (field.codec == idx::Codec::zip) {
    auto room = static_cast<uLongf>(out.size());
    if (compress2(reinterpret_cast<Bytef*>(out.data()), &room,
                  reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()),
                  Z_BEST_SPEED) == Z_OK)
      size = room;
  } else {
    const int length = static_cast<int>(bytes.size());
    const int made = LZ4_compress_default(reinterpret_cast<const char*>(bytes.data()),
                                          reinterpret_cast<char*>(out.data()), length, length);
    if (made > 0) size = static_cast<size_t>(made);
  }
  out.resize(size < bytes.size() ? size : 0);
  out.shrink_to_fit();
  return out;
}

}  // namespace pillion::stages::write_idx

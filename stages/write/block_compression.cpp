// SPDX-License-Identifier: BSD-3-Clause
// Reading and checking of it.
#include "block_compression.hpp"

#include <algorithm>
#include <cmath>
#include <pillion/idx/zfp.hpp>

#include "../common/options.hpp"

namespace pillion::stages {
namespace {

bool is_real(const pillion_field_description& field) {
  return field.type == PILLION_FLOAT32 || field.type == PILLION_FLOAT64;
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

BlockCompression::BlockCompression(const stage::Value& value, const WrittenFields& fields)
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
void BlockCompression::check_zfp(const stage::Value& value, const WrittenFields& fields) const {
  if (!idx::has_zfp())
    value.fail(
        "this build of Pillion is without zfp; build it where the library is found, or "
        "choose zip or lz4");
  const auto& mesh = fields.mesh();
  if (std::none_of(mesh.cells + 1, mesh.cells + mesh.axes, [](int64_t n) { return n > 1; }))
    value.fail("zfp needs a mesh with cells along its second or third axis; choose zip or lz4");
}

void BlockCompression::read_losses(const stage::Value& limits, const WrittenFields& fields) {
  if (!limits.is_map() || limits.size() == 0)
    limits.fail("expected {tolerance: …} or {precision: …}; `compression: zfp` loses nothing");
  only_keys(limits, {"tolerance", "precision"});
  for (int64_t i = 0; i < limits.size(); ++i)
    read_limit(limits[i], fields, limits.key(i) == "tolerance" ? set_tolerance : set_precision);
}

template <class Set>
void BlockCompression::read_limit(const stage::Value& limit, const WrittenFields& fields,
                                  Set&& set) {
  const auto give = [&](const stage::Value& value, size_t field) {
    if (losses_[field] != idx::ZfpLoss{})
      value.fail("field '" + fields.names[field] + "' can have a tolerance or a precision");
    set(value, losses_[field]);
  };
  if (!limit.is_map()) {
    for (size_t f = 0; f < fields.names.size(); ++f)
      if (is_real(fields.fields[f])) give(limit, f);
    return;
  }
  for (int64_t i = 0; i < limit.size(); ++i) {
    const auto at = std::find(fields.names.begin(), fields.names.end(), limit.key(i));
    if (at == fields.names.end())
      limit[i].fail("field '" + limit.key(i) + "' is not one of those that are written");
    const auto field = static_cast<size_t>(at - fields.names.begin());
    if (!is_real(fields.fields[field]))
      limit[i].fail("field '" + *at + "' has integers, of which zfp loses nothing");
    give(limit[i], field);
  }
}

}  // namespace pillion::stages

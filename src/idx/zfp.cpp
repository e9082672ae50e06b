// SPDX-License-Identifier: BSD-3-Clause
// Blocks through the library zfp, or without it refusals.
#ifdef PILLION_IDX_ZFP
#include <zfp.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <pillion/error.hpp>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/zfp.hpp>

namespace pillion::idx {

#ifdef PILLION_IDX_ZFP

namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::File, why); }

struct Close {
  void operator()(zfp_field* field) const { zfp_field_free(field); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(bitstream* bits) const { stream_close(bits); }
};
template <class T>
using Handle = std::unique_ptr<T, Close>;

zfp_type type_of(const Field& field) {
  const auto type = field.type == Type::int32     ? zfp_type_int32
                    : field.type == Type::int64   ? zfp_type_int64
                    : field.type == Type::float32 ? zfp_type_float
                    : field.type == Type::float64 ? zfp_type_double
                                                  : zfp_type_none;
  if (type == zfp_type_none || field.components != 1)
    refuse("zfp takes int32, int64, float32 and float64 of one component, not " +
           name_of(field.type) + "[" + std::to_string(field.components) + "]");
  return type;
}

/// As many axes as the bitmask has: readers go by those, even where a block is flat.
Handle<zfp_field> grid(const Dataset& dataset, const Field& field, int64_t block, void* samples) {
  const auto type = type_of(field);
  const Point extent = grid_of(dataset, block).extent;
  const auto n = [&](size_t axis) { return static_cast<size_t>(extent[axis]); };
  if (dataset.mask.extent(2) > 1)
    return Handle<zfp_field>(zfp_field_3d(samples, type, n(0), n(1), n(2)));
  if (dataset.mask.extent(1) > 1) return Handle<zfp_field>(zfp_field_2d(samples, type, n(0), n(1)));
  return Handle<zfp_field>(zfp_field_1d(samples, type, n(0)));
}

/// A block's grid and how it is compressed.
struct Coder {
  Handle<zfp_field> field;
  Handle<zfp_stream> stream{zfp_stream_open(nullptr)};
  Handle<bitstream> bits;

  Coder(const Dataset& dataset, const Field& of, int64_t block, void* samples)
      : field(grid(dataset, of, block, samples)) {
    if (of.zfp.precision > 0)
      zfp_stream_set_precision(stream.get(), static_cast<unsigned>(of.zfp.precision));
    else if (of.zfp.tolerance > 0) zfp_stream_set_accuracy(stream.get(), of.zfp.tolerance);
    else zfp_stream_set_reversible(stream.get());
  }

  /// No stream of such a block is longer.
  [[nodiscard]] size_t most() const { return zfp_stream_maximum_size(stream.get(), field.get()); }
  void attach(std::vector<std::byte>& bytes) {
    bits.reset(stream_open(bytes.data(), bytes.size()));
    zfp_stream_set_bit_stream(stream.get(), bits.get());
    zfp_stream_rewind(stream.get());
  }
};

/// zfp computes with bits beyond those of the type, but keeps no tolerance below the rounding of
/// the largest value; and what is not finite makes it lose its neighbours. It turns four samples
/// along each axis into integers, multiples of a part of the largest. Where that part is below the
/// normal numbers, all of them are lost, which takes a tolerance that allows it.
template <class Real>
bool bears_loss(double tolerance, std::span<const std::byte> samples) {
  using Limits = std::numeric_limits<Real>;
  const auto* values = reinterpret_cast<const Real*>(samples.data());
  Real most = 0, least = Limits::max();
  for (size_t i = 0; i < samples.size() / sizeof(Real); ++i) {
    const Real size = std::abs(values[i]);
    if (!std::isfinite(size)) return false;
    most = std::max(most, size);
    if (size > 0) least = std::min(least, size);
  }
  const double lost = std::ldexp(double{Limits::min()}, 8 * sizeof(Real));
  if (tolerance == 0) return double{least} >= lost;
  return tolerance >= std::max(lost, double{most} * Limits::epsilon());
}

bool bears_loss(const Field& field, std::span<const std::byte> samples) {
  if (field.zfp == ZfpLoss{}) return true;
  if (field.type == Type::float32) return bears_loss<float>(field.zfp.tolerance, samples);
  if (field.type == Type::float64) return bears_loss<double>(field.zfp.tolerance, samples);
  return false;
}

}  // namespace

bool has_zfp() { return true; }

std::vector<std::byte> zfp_encoded(const Dataset& dataset, const Field& field, int64_t block,
                                   std::span<const std::byte> samples) {
  if (!bears_loss(field, samples)) return {};
  Coder coder(dataset, field, block, const_cast<std::byte*>(samples.data()));
  std::vector<std::byte> out(coder.most());
  coder.attach(out);
  const size_t size = zfp_compress(coder.stream.get(), coder.field.get());
  out.resize(size < samples.size() ? size : 0);
  out.shrink_to_fit();
  return out;
}

// The library does not look where a stream ends, so it gets as many bytes as it could ever read.
void zfp_decode(const Dataset& dataset, const Field& field, int64_t block,
                std::span<const std::byte> stream, std::span<std::byte> samples) {
  if (field.codec != Codec::zfp)
    refuse(
        "it is compressed with zfp, but its field has no "
        "default_compression(zfp-…)");
  Coder coder(dataset, field, block, samples.data());
  std::vector<std::byte> padded(std::max(coder.most(), stream.size()));
  std::copy(stream.begin(), stream.end(), padded.begin());
  coder.attach(padded);
  const size_t used = zfp_decompress(coder.stream.get(), coder.field.get());
  if (used == 0 || used > stream.size())
    refuse("it cannot be decompressed: " + std::to_string(stream.size()) +
           " bytes are there, and its end is missing");
}

#else

namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::File,
              "it is compressed with zfp, and this was built without that library");
}

}  // namespace

bool has_zfp() { return false; }

std::vector<std::byte> zfp_encoded(const Dataset& /*dataset*/, const Field& /*field*/,
                                   int64_t /*block*/, std::span<const std::byte> /*samples*/) {
  fail();
}

void zfp_decode(const Dataset& /*dataset*/, const Field& /*field*/, int64_t /*block*/,
                std::span<const std::byte> /*stream*/, std::span<std::byte> /*samples*/) {
  fail();
}

#endif

}  // namespace pillion::idx

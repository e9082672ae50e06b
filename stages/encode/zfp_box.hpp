// SPDX-License-Identifier: BSD-3-Clause
// One component of a box of cells, as a stream of zfp whose error is within a bound: what is
// compressed is decompressed and looked at. Without the library there is none.
#pragma once

#ifdef PILLION_ZFP
#include <zfp.h>
#endif

#include "box_stream.hpp"

namespace pillion::stages::encode {

#ifdef PILLION_ZFP

namespace detail {

template <class T>
class Zfp {
 public:
  Zfp(const Box& box, std::span<const T> values) : values_(values), back_(values.size()) {
    const auto n = [&](size_t axis) { return static_cast<size_t>(box.extent[axis]); };
    const auto type = sizeof(T) == 4 ? zfp_type_float : zfp_type_double;
    // The library reads what it may not change.
    void* data = const_cast<T*>(values.data());
    field_ = box.axes == 1   ? zfp_field_1d(data, type, n(0))
             : box.axes == 2 ? zfp_field_2d(data, type, n(0), n(1))
                             : zfp_field_3d(data, type, n(0), n(1), n(2));
    stream_ = zfp_stream_open(nullptr);
  }
  Zfp(const Zfp&) = delete;
  Zfp& operator=(const Zfp&) = delete;
  ~Zfp() {
    zfp_stream_close(stream_);
    zfp_field_free(field_);
  }

  /// With that tolerance; below 0: exactly.
  BoxStream compress(double tolerance) {
    if (tolerance < 0) zfp_stream_set_reversible(stream_);
    else zfp_stream_set_accuracy(stream_, tolerance);
    BoxStream out;
    out.bytes.resize(zfp_stream_maximum_size(stream_, field_));
    bitstream* bits = stream_open(out.bytes.data(), out.bytes.size());
    zfp_stream_set_bit_stream(stream_, bits);
    zfp_stream_rewind(stream_);
    zfp_write_header(stream_, field_, ZFP_HEADER_FULL);
    out.bytes.resize(zfp_compress(stream_, field_));
    measure(out);
    stream_close(bits);
    return out;
  }

 private:
  void measure(BoxStream& out) {
    zfp_stream_rewind(stream_);
    zfp_read_header(stream_, field_, ZFP_HEADER_FULL);
    zfp_field_set_pointer(field_, back_.data());
    zfp_decompress(stream_, field_);
    zfp_field_set_pointer(field_, const_cast<T*>(values_.data()));
    out.measure(values_, std::span<const T>(back_));
  }

  std::span<const T> values_;
  std::vector<T> back_;
  zfp_field* field_;
  zfp_stream* stream_;
};

}  // namespace detail

/// Empty if the library cannot have it exactly where it must be. It may take more bytes than the
/// values.
template <class T>
BoxStream zfp_within(const Box& box, std::span<const T> values, const Limit& limit) {
  detail::Zfp<T> zfp(box, values);
  // The error is far below the tolerance: of any value usually an eighth of it, of the root mean
  // square less. zfp has a tolerance for each power of two.
  constexpr int most_doublings = 4;
  double tolerance = (limit.is_largest ? 8 : 16) * limit.bound;
  for (int i = 0; limit.bound > 0 && i < 6; ++i, tolerance /= 2) {
    auto out = zfp.compress(tolerance);
    if (!out.is_within(limit, values.size())) continue;
    for (int up = 0; i == 0 && up < most_doublings; ++up) {
      const double error = out.error(limit, values.size());
      if (error == 0 || 2 * error > limit.bound) break;
      tolerance *= 2;
      auto coarser = zfp.compress(tolerance);
      if (!coarser.is_within(limit, values.size())) break;
      out = std::move(coarser);
    }
    return out;
  }
  auto out = zfp.compress(-1);
  return out.is_exact ? out : BoxStream{};
}

#else

template <class T>
BoxStream zfp_within(const Box&, std::span<const T>, const Limit&) {
  return {};
}

#endif

}  // namespace pillion::stages::encode

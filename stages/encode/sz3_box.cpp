// SPDX-License-Identifier: BSD-3-Clause
// The filter's work is done in HDF5 files in memory: a box is the one chunk of a dataset, and the
// stream is that chunk's bytes. Boxes that version 3.1 of the filter cannot be trusted with stay
// away from it.
#include <algorithm>
#include <bit>
#include <limits>

#include "../common/hdf5.hpp"
#include "box_stream.hpp"

namespace pillion::stages::encode {
namespace {

constexpr H5Z_filter_t sz3 = 32024;  // as registered with the HDF Group

using Extents = std::vector<hsize_t>;

/// Slowest first. The filter takes the wrong axes away where one has a single cell.
Extents extents_of(const Box& box) {
  Extents out;
  for (size_t d = box.extent.size(); d-- > 0;)
    if (box.extent[d] != 1) out.push_back(static_cast<hsize_t>(box.extent[d]));
  return out;
}

/// An absolute bound, and three others that are not used, each as the upper and the lower half of a
/// real number behind the mode.
std::array<unsigned, 9> numbers_for(double bound) {
  const auto bits = std::bit_cast<uint64_t>(bound);
  return {0, static_cast<unsigned>(bits >> 32), static_cast<unsigned>(bits)};
}

/// With a bound of 0 exactly.
template <class T>
BoxStream compressed(const Extents& extents, std::span<const T> values, double bound) {
  const std::string what = "compress a box by SZ3";
  const hid_t type = sizeof(T) == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  const auto access = hdf5::properties(H5P_FILE_ACCESS);
  hdf5::check(H5Pset_fapl_core(access, size_t{1} << 20, 0), what);
  const hdf5::Handle file(H5Fcreate("pillion-sz3", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
                          what);
  const auto numbers = numbers_for(bound);
  const auto how = hdf5::properties(H5P_DATASET_CREATE);
  hdf5::check(H5Pset_chunk(how, static_cast<int>(extents.size()), extents.data()), what);
  hdf5::check(H5Pset_filter(how, sz3, H5Z_FLAG_MANDATORY, numbers.size(), numbers.data()), what);
  // What is read shall come out of the filter, not out of the cache.
  const auto use = hdf5::properties(H5P_DATASET_ACCESS);
  hdf5::check(H5Pset_chunk_cache(use, 0, 0, H5D_CHUNK_CACHE_W0_DEFAULT), what);
  const auto all = hdf5::space(extents);
  const hdf5::Handle dataset(H5Dcreate_anon(file, type, all, how, use), H5Dclose, what);
  hdf5::check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
  const Extents origin(extents.size());
  hsize_t size = 0;
  hdf5::check(H5Dget_chunk_storage_size(dataset, origin.data(), &size), what);
  BoxStream out;
  out.bytes.resize(size);
  uint32_t skipped = 0;
  hdf5::check(H5Dread_chunk(dataset, H5P_DEFAULT, origin.data(), &skipped, out.bytes.data()), what);
  std::vector<T> back(values.size());
  hdf5::check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()), what);
  out.measure(values, std::span<const T>(back));
  return out;
}

/// Whether multiples of the bound reach all values, and sums of many values are finite. SZ3 counts
/// on both.
template <class T>
bool is_tame(std::span<const T> values, double bound) {
  double largest = 0;
  for (const T value : values) {
    if (!std::isfinite(value)) return false;
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  return bound > 1e-280 && bound < 1e280 && largest < 0x1p50 * bound &&
         largest < 1e-6 * static_cast<double>(std::numeric_limits<T>::max());
}

}  // namespace

void require_sz3(const stage::Value& value) {
  if (!hdf5::has_filter(sz3))
    value.fail(
        "HDF5 does not find the filter of SZ3 (number 32024) in HDF5_PLUGIN_PATH. Install it by: "
        "pip install hdf5plugin; then set HDF5_PLUGIN_PATH to the output of "
        "python -c \"import hdf5plugin; print(hdf5plugin.PLUGIN_PATH)\"");
  const hdf5::Quiet quiet;
  std::vector<double> ramp(1000);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = 0.125 * static_cast<double>(i);
  const Limit limit{0.25, true};
  bool works = false;
  try {
    const auto out = compressed(extents_of({{10, 10, 10}}), std::span<const double>(ramp), 0.25);
    works = out.is_within(limit, ramp.size()) && out.bytes.size() < ramp.size();
  } catch (const Error&) {}
  if (!works)
    value.fail(
        "the filter of SZ3 that HDF5 finds does not compress within an absolute bound as that of "
        "SZ3 3.1 does; hdf5plugin has that up to version 7.1: pip install 'hdf5plugin<=7.1'");
}

template <class T>
BoxStream sz3_within(const Box& box, std::span<const T> values, const Limit& limit) {
  // It leaves shorter ones as they are, and chunks of HDF5 are smaller than 4 GiB.
  constexpr size_t least = 20, most = size_t{1} << 32;
  if (values.size() < least || values.size_bytes() >= most) return {};
  const hdf5::Quiet quiet;
  const auto extents = extents_of(box);
  double tolerance = (limit.is_largest ? 1 : 4) * limit.bound;
  for (int i = 0; i < 6 && is_tame(values, tolerance); ++i) {
    auto out = compressed(extents, values, tolerance);
    if (out.is_within(limit, values.size())) return out;
    // The root mean square grows with the tolerance, more slowly if anything.
    const double rms = out.error(limit, values.size());
    tolerance *= limit.is_largest ? 0.5 : std::clamp(0.98 * limit.bound / rms, 0.1, 0.9);
  }
  auto out = compressed(extents, values, 0);
  return out.is_exact ? out : BoxStream{};
}

template BoxStream sz3_within(const Box&, std::span<const float>, const Limit&);
template BoxStream sz3_within(const Box&, std::span<const double>, const Limit&);

}  // namespace pillion::stages::encode

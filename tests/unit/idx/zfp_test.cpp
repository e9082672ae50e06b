// SPDX-License-Identifier: BSD-3-Clause
// Blocks as zfp streams, and what a dataset's text says of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <pillion/error.hpp>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/zfp.hpp>
#include <random>

using namespace pillion;
using namespace pillion::idx;

namespace {

Dataset sample(const ZfpLoss& loss, Type type = Type::float64) {
  Dataset out;
  out.hi = {22, 36, 22};
  out.fields = {{"density", type, 1, Codec::zfp, 0, loss}};
  out.mask = Bitmask::alternating(out.hi);
  out.bits_per_block = 9;
  out.blocks_per_file = 5;
  out.files = "./data/%04x.bin";
  return out;
}

constexpr size_t count = 512;

std::vector<double> smooth() {
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = 50 * std::sin(0.01 * static_cast<double>(i));
  return out;
}

std::span<const std::byte> bytes_of(const std::vector<double>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<double> decoded(const Dataset& dataset, std::span<const std::byte> stream) {
  std::vector<double> out(count, -1);
  zfp_decode(dataset, dataset.fields[0], 1, stream, std::as_writable_bytes(std::span(out)));
  return out;
}

std::string fault_of(const Dataset& dataset, std::span<const std::byte> stream) {
  try {
    (void)decoded(dataset, stream);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string with(const std::string& compression) {
  auto text = sample({}).text();
  const std::string name = "zfp-reversible-reversible";
  return text.replace(text.find(name), name.size(), compression);
}

}  // namespace

TEST_CASE("how a field is compressed is in the text") {
  for (const ZfpLoss loss : {ZfpLoss{}, {24, 0}, {0, 1e-3}, {0, 1e-40}, {0, 2.5e7}, {0, 1e300}}) {
    const auto text = sample(loss).text();
    CHECK(Dataset::parse(text, "x.idx").fields == sample(loss).fields);
    const auto from = text.find("(zfp-"), to = text.find(')', from);
    const auto name = text.substr(from, to - from);
    CHECK(std::count(name.begin(), name.end(), '-') == 2);  // readers split there
    CHECK(name.find('+') == std::string::npos);
  }
  CHECK(sample({0, 1e-3}).text().find("zfp-accuracy=0.001-accuracy=0.001") != std::string::npos);
  CHECK(Dataset::parse(with("zfp"), "x.idx").fields[0].zfp == ZfpLoss{});
  CHECK(Dataset::parse(with("zfp-reversible-precision=16"), "x.idx").fields[0].zfp.precision == 16);
  for (const char* const wrong : {"zfp-8", "zfp-rate=8-rate=8", "zfp-precision=0-precision=0",
                                  "zfp-precision=2-precision=2x", "zfp-a-accuracy=-1", "zfpx"})
    CHECK(Dataset::parse(with(wrong), "x.idx").fields[0].codec == Codec::raw);  // blocks say theirs
}

TEST_CASE("streams hold what they should") {
  if (!has_zfp()) return;
  const auto values = smooth();
  const auto exact = sample({});
  const auto stream = zfp_encoded(exact, exact.fields[0], 1, bytes_of(values));
  REQUIRE(!stream.empty());
  CHECK(decoded(exact, stream) == values);
  const auto near = sample({0, 1e-3});
  const auto shorter = zfp_encoded(near, near.fields[0], 1, bytes_of(values));
  CHECK(shorter.size() < stream.size() / 2);
  const auto found = decoded(near, shorter);
  for (size_t i = 0; i < count; ++i) CHECK(std::abs(found[i] - values[i]) <= 1e-3);
  CHECK(fault_of(exact, std::span(stream).first(stream.size() - 8)).find("its end is missing") !=
        std::string::npos);
  CHECK(fault_of(exact, {}).find("its end is missing") != std::string::npos);
}

TEST_CASE("what must not be lost is no stream") {
  if (!has_zfp()) return;
  const auto packed = [](const ZfpLoss& loss, const std::vector<double>& values) {
    const auto dataset = sample(loss);
    return zfp_encoded(dataset, dataset.fields[0], 1, bytes_of(values));
  };
  auto values = smooth();
  CHECK(packed({0, 1e-15}, values).empty());  // the rounding of 50 is 7e-15
  CHECK(!packed({0, 2e-14}, values).empty());
  values[7] = std::numeric_limits<double>::infinity();
  CHECK(packed({0, 1.0}, values).empty());
  CHECK(packed({20, 0}, values).empty());
  CHECK(!packed({}, values).empty());
}

namespace {

/// The largest error of a block of noise of some scale, in units of the tolerance; 0 if the block
/// is stored as it is.
template <class Real>
double error_at(double scale, double tolerance, std::mt19937& random) {
  const auto dataset = sample({0, tolerance}, sizeof(Real) == 4 ? Type::float32 : Type::float64);
  std::normal_distribution<double> normal;
  std::vector<Real> values(count), back(count);
  for (auto& value : values) value = static_cast<Real>(scale * normal(random));
  const auto stream = zfp_encoded(dataset, dataset.fields[0], 1, std::as_bytes(std::span(values)));
  if (stream.empty()) return 0;
  zfp_decode(dataset, dataset.fields[0], 1, stream, std::as_writable_bytes(std::span(back)));
  double off = 0;
  for (size_t i = 0; i < count; ++i)
    off = std::max(off, std::abs(static_cast<double>(back[i]) - static_cast<double>(values[i])));
  return off / tolerance;
}

/// Over all scales that the type has, and tolerances of less than the rounding of values up to all
/// of them.
template <class Real>
void check_scales() {
  std::mt19937 random(5);
  using Limits = std::numeric_limits<Real>;
  int within = 0, all = 0;
  for (int scale = Limits::min_exponent; scale < Limits::max_exponent - 4; scale += 3)
    for (int bits = 0; bits <= Limits::digits + 2; bits += 5) {
      const double size = std::ldexp(1.0, scale), tolerance = std::ldexp(size, -bits);
      if (tolerance == 0) continue;
      within += error_at<Real>(size, tolerance, random) <= 1 ? 1 : 0;
      ++all;
    }
  CHECK(within == all);
}

}  // namespace

TEST_CASE("a tolerance holds at every scale of values") {
  if (!has_zfp()) return;
  check_scales<float>();
  check_scales<double>();
  // Bits of precision are lost as well where values are nearly below what a type holds.
  const auto dataset = sample({20, 0});
  std::vector<double> values(count, 1e-300);
  CHECK(zfp_encoded(dataset, dataset.fields[0], 1, bytes_of(values)).empty());
  for (auto& value : values) value = 1e-200;
  CHECK(!zfp_encoded(dataset, dataset.fields[0], 1, bytes_of(values)).empty());
}

TEST_CASE("what zfp has no streams of") {
  if (!has_zfp()) return;
  const std::vector<std::byte> stream(64);
  CHECK(fault_of(sample({}, Type::uint64), stream).find("not uint64[1]") != std::string::npos);
  auto zipped = sample({});
  zipped.fields[0].codec = Codec::zip;
  CHECK(fault_of(zipped, stream).find("has no default_compression") != std::string::npos);
}

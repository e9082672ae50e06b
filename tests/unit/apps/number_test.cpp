// SPDX-License-Identifier: BSD-3-Clause
#include "replay/number.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace replay;

namespace {

constexpr pillion_type types[] = {PILLION_INT32, PILLION_INT64, PILLION_FLOAT32, PILLION_FLOAT64};

template <class To, class From>
std::vector<To> converted(Number number, std::vector<From> values, pillion_type type,
                          bool swapped) {
  if (swapped)
    for (auto& value : values) {
      auto* bytes = reinterpret_cast<std::byte*>(&value);
      std::reverse(bytes, bytes + sizeof value);
    }
  std::vector<To> out(values.size());
  convert(number, swapped, reinterpret_cast<const std::byte*>(values.data()),
          static_cast<int64_t>(values.size()), type, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

/// The ends of a type's range, as another type.
template <class From, class To>
void check_ends(Number number, pillion_type type) {
  using Limits = std::numeric_limits<From>;
  const std::vector<From> values{Limits::lowest(), Limits::max(), From{0}, From{1},
                                 Limits::epsilon()};
  for (const bool swapped : {false, true}) {
    const auto out = converted<To>(number, values, type, swapped);
    for (size_t i = 0; i < values.size(); ++i) CHECK(static_cast<From>(out[i]) == values[i]);
  }
}

}  // namespace

TEST_CASE("what fits what") {
  const auto row = [](Number number) {
    std::string out;
    for (const auto type : types) out += fits(number, type) ? 'x' : '.';
    return out;
  };
  // int32, int64, float32, float64
  CHECK(row(Number::Int8) == "xxxx");
  CHECK(row(Number::UInt8) == "xxxx");
  CHECK(row(Number::Int16) == "xxxx");
  CHECK(row(Number::UInt16) == "xxxx");
  CHECK(row(Number::Int32) == "xx.x");
  CHECK(row(Number::UInt32) == ".x.x");
  CHECK(row(Number::Int64) == ".x..");
  CHECK(row(Number::Float32) == "..xx");
  CHECK(row(Number::Float64) == "...x");
}

TEST_CASE("nothing is lost, at the ends of ranges neither, and bytes are swapped") {
  check_ends<int8_t, int32_t>(Number::Int8, PILLION_INT32);
  check_ends<int8_t, float>(Number::Int8, PILLION_FLOAT32);
  check_ends<uint16_t, int32_t>(Number::UInt16, PILLION_INT32);
  check_ends<uint16_t, float>(Number::UInt16, PILLION_FLOAT32);
  check_ends<uint32_t, int64_t>(Number::UInt32, PILLION_INT64);
  check_ends<uint32_t, double>(Number::UInt32, PILLION_FLOAT64);
  check_ends<int32_t, int32_t>(Number::Int32, PILLION_INT32);
  check_ends<int64_t, int64_t>(Number::Int64, PILLION_INT64);
  check_ends<float, double>(Number::Float32, PILLION_FLOAT64);
  check_ends<double, double>(Number::Float64, PILLION_FLOAT64);
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(converted<double>(Number::Float32, std::vector{nan}, PILLION_FLOAT64, true)[0]));
}

TEST_CASE("numbers are found by kind and size") {
  CHECK(find_number('f', 4) == Number::Float32);
  CHECK(find_number('i', 1) == Number::Int8);
  CHECK(find_number('u', 4) == Number::UInt32);
  for (const auto& [kind, bytes] :
       std::vector<std::pair<char, size_t>>{{'u', 8}, {'f', 2}, {'f', 16}, {'c', 8}, {'i', 3}})
    CHECK(!find_number(kind, bytes));
  CHECK(std::string(name_of(Number::UInt16)) == "uint16");
  CHECK(size_of(pillion_type{PILLION_FLOAT32}) == 4);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "replay/npy.hpp"

#include <doctest/doctest.h>

#include <bit>

#include "errors.hpp"

using namespace replay;

namespace {

/// A head as NumPy writes it, padded to a multiple of 64 bytes.
std::string head(const std::string& dictionary, int version = 1) {
  const size_t begin = version == 1 ? 10 : 12;
  std::string text = dictionary;
  text.resize((begin + dictionary.size() + 1 + 63) / 64 * 64 - begin - 1, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  out += {static_cast<char>(version), '\0'};
  for (size_t b = 0; b + 8 < begin; ++b) out += static_cast<char>(text.size() >> (8 * b) & 0xff);
  return out + text;
}

std::string entries(const std::string& type, const std::string& order, const std::string& shape) {
  return "{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': (" + shape + "), }";
}

Stored parse(const std::string& text) { return parse_npy_head(text, "f.npy"); }

}  // namespace

TEST_CASE("heads of all versions are read") {
  for (int version : {1, 2, 3}) {
    const auto text = head(entries("'<f8'", "False", "3, 4, 5"), version);
    const auto stored = parse(text + "values");
    CHECK(stored.number == Number::Float64);
    CHECK(!stored.fortran);
    CHECK(stored.shape == std::vector<int64_t>{3, 4, 5});
    CHECK(stored.offset == static_cast<int64_t>(text.size()));
    CHECK(npy_head_size(text.substr(0, npy_begin_size), "f.npy") == text.size());
  }
}

TEST_CASE("types, orders and shapes") {
  const bool little = std::endian::native == std::endian::little;
  CHECK(parse(head(entries("'>i4'", "True", "7,"))).swapped == little);
  CHECK(parse(head(entries("'<i4'", "True", "7,"))).swapped != little);
  CHECK(!parse(head(entries("'|u1'", "True", "7,"))).swapped);
  CHECK(parse(head(entries("'>i4'", "True", "7,"))).fortran);
  CHECK(parse(head(entries("'>i4'", "True", "7,"))).shape == std::vector<int64_t>{7});
  CHECK(parse(head(entries("'<f8'", "False", ""))).shape.empty());
  CHECK(parse(head(entries("'<f8'", "False", "0, 3"))).shape == std::vector<int64_t>{0, 3});
  for (const char* odd : {"'<c16'", "'<f2'", "'<u8'", "'|S5'", "'|O'", "'|b1'", "'<M8[ns]'"})
    CHECK(!parse(head(entries(odd, "False", "2,"))).number);
  CHECK(parse(head(entries("[('x', '<f8'), ('y', '<i4')]", "False", "2,"))).type == "records");
}

TEST_CASE("what is no such file is refused") {
  const auto said = [](const std::string& text) { return error_of([&] { (void)parse(text); }); };
  CHECK(contains(said("hello world, hello"), "'f.npy' cannot be read as .npy: it does not begin"));
  CHECK(contains(said(""), "does not begin"));
  CHECK(contains(said(head("{}")), "has no 'descr'"));
  CHECK(contains(said(head("{'descr': '<f8', 'fortran_order': Perhaps, 'shape': (1,)}")),
                 "has no 'fortran_order'"));
  CHECK(contains(said(head("{'descr': '<f8', 'fortran_order': True}")), "has no 'shape'"));
  CHECK(contains(said(head(entries("'<f8'", "False", "99999999999999999999,"))), "its shape is"));
  CHECK(contains(said(head(entries("'<f8'", "False", "1,"), 9)), "version 9"));
  CHECK(
      contains(said(head(entries("'<f8'", "False", "1,")).substr(0, 30)), "ends within its head"));
  std::string long_head = head(entries("'<f8'", "False", "1,"), 2);
  long_head[11] = '\x7f';
  CHECK(contains(said(long_head), "its head has"));
}

// SPDX-License-Identifier: BSD-3-Clause
#include "base/checksum.hpp"

#include <doctest/doctest.h>

#include <string>

using pillion::base::crc32c;

TEST_CASE("checksums are those of the standard") {
  CHECK(crc32c("123456789", 9) == 0xe3069283);  // the check value of CRC-32/ISCSI
  CHECK(crc32c("", 0) == 0);
  // RFC 3720, appendix B.4.
  CHECK(crc32c(std::string(32, '\0').data(), 32) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff').data(), 32) == 0x62a8ab43);
}

TEST_CASE("a checksum may be taken in pieces") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(7 * i);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const auto first = crc32c(text.data(), cut);
    CHECK(crc32c(text.data() + cut, text.size() - cut, first) == crc32c(text.data(), text.size()));
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// Eight bytes at a time by tables: M. E. Kounavis, F. L. Berry: Novel table lookup-based algorithms
// for high-performance CRC generation, IEEE Transactions on Computers 57 (2008).
#include "base/checksum.hpp"

#include <array>
#include <cstring>

namespace pillion::base {

namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr uint32_t polynomial = 0x82f63b78;  // bits reversed
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t t = 1; t < tables.size(); ++t)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[t][byte] = (tables[t - 1][byte] >> 8) ^ tables[0][tables[t - 1][byte] & 0xff];
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

uint32_t crc32c(const void* data, size_t size, uint32_t before) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t crc = ~before;
  for (; size >= 8; size -= 8, at += 8) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
          tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][(high >> 8) & 0xff] ^
          tables[1][(high >> 16) & 0xff] ^ tables[0][high >> 24];
  }
  for (; size > 0; --size, ++at) crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

}  // namespace pillion::base

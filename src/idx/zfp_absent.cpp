// SPDX-License-Identifier: BSD-3-Clause
// In the place of zfp.cpp where the library was not found.
#include <pillion/error.hpp>
#include <pillion/idx/zfp.hpp>

namespace pillion::idx {
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

}  // namespace pillion::idx

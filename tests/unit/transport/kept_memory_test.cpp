// SPDX-License-Identifier: BSD-3-Clause
// Messages and what is kept beside them stay within a part of the budget, for all small numbers.
#include "transport/kept_memory.hpp"

#include <doctest/doctest.h>

using namespace pillion::transport;

TEST_CASE("messages and what is kept beside them have room in the part together") {
  constexpr size_t most = 7;
  for (size_t part = 0; part < most; ++part)
    for (size_t need = 0; need < most; ++need)
      for (size_t shared = 0; shared < most; ++shared)
        for (size_t own = 0; own < most; ++own) {
          const KeptMemory kept{shared, own, 0};
          const size_t left = left_for_messages(part, need, kept);
          CAPTURE(part);
          CAPTURE(need);
          CAPTURE(shared);
          CAPTURE(own);
          // What receivers see is strictly within the part, and so is the rest if it can be.
          CHECK(left + shared <= std::max(part, shared));
          if (need + shared + own <= part) CHECK(left + shared + own == part);
          // The largest message always has room beside private copies.
          if (need + shared <= part) CHECK(left >= need);
        }
}

TEST_CASE("a copy may be kept if the largest message, and what receivers hold, still have room") {
  constexpr size_t most = 6;
  for (size_t part = 0; part < most; ++part)
    for (size_t need = 0; need < most; ++need)
      for (size_t held = 0; held < most; ++held)
        for (size_t shared = 0; shared < most; ++shared)
          for (size_t retired = 0; retired < most; ++retired)
            for (size_t bytes = 0; bytes < most; ++bytes) {
              const bool fits = shared + retired + bytes + need <= part &&
                                shared + retired + bytes + held <= part;
              CHECK(may_keep(part, need, held, {shared, 0, retired}, bytes) == fits);
            }
}

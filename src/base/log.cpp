// SPDX-License-Identifier: BSD-3-Clause
// The handler that a program gets if it chooses none.
#include "base/log.hpp"

#include <cstdio>

namespace pillion::base {

Log::Log()
    : handler_([](Level level, const std::string& message) {
        if (level < Level::Warning) return;
        const char* word = level == Level::Warning ? "warning" : "error";
        std::fputs(fmt::format("pillion: {}: {}\n", word, message).c_str(), stderr);
      }) {}

}  // namespace pillion::base

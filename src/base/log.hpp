// SPDX-License-Identifier: BSD-3-Clause
// Where messages for people go: to a handler that the program chose. The library prints nothing by
// itself except through it.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "base/error.hpp"

namespace pillion::base {

enum class Level : int { Debug = 0, Info = 1, Warning = 2, Failure = 3 };

class Log {
 public:
  using Handler = std::function<void(Level, const std::string&)>;

  /// Warnings and failures on standard error.
  Log()
      : handler_([](Level level, const std::string& message) {
          if (level < Level::Warning) return;
          const char* word = level == Level::Warning ? "warning" : "error";
          std::fputs(fmt::format("pillion: {}: {}\n", word, message).c_str(), stderr);
        }) {}
  /// An empty handler is silence.
  explicit Log(Handler handler) : handler_(std::move(handler)) {}

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    say(Level::Info, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    say(Level::Warning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void failure(fmt::format_string<Args...> format, Args&&... args) const {
    say(Level::Failure, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void say(Level level, const std::string& message) const {
    if (handler_) handler_(level, message);
  }
  Handler handler_;
};

}  // namespace pillion::base

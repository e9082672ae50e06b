// SPDX-License-Identifier: BSD-3-Clause
// The one exception that Pillion throws. Its code is the kind of remedy that is needed; its message
// names the failure, the value seen, and the remedy. C++17.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace pillion {

/// Why a call failed. The values are those of `pillion_status` in pillion.h.
enum class ErrorCode : int32_t {
  Argument = 1,       ///< a call was given something it cannot use
  Configuration = 2,  ///< the YAML file is missing, malformed or inconsistent
  Sharing = 3,        ///< what was shared does not fit the catalogue
  Placement = 4,      ///< ranks cannot be given the roles that were asked for
  Plugin = 5,         ///< a stage could not be loaded
  Stage = 6,          ///< a stage failed while it worked
  File = 7,           ///< a file could not be read or written
  State = 8,          ///< calls came in an order that makes no sense
  Internal = 9        ///< a defect in Pillion
};

/// A place in a program's source, as C++20's std::source_location. Its texts are never freed.
class SourceLocation {
 public:
  /// Where this is called, or, as a default argument, where the function with that is called.
  [[nodiscard]] static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                                        const char* function = __builtin_FUNCTION(),
                                                        uint32_t line = __builtin_LINE()) noexcept {
    SourceLocation here;
    here.file_ = file;
    here.function_ = function;
    here.line_ = line;
    return here;
  }

  [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
  [[nodiscard]] constexpr const char* function_name() const noexcept { return function_; }
  [[nodiscard]] constexpr uint32_t line() const noexcept { return line_; }

 private:
  const char* file_ = "";
  const char* function_ = "";
  uint32_t line_ = 0;
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message,
        SourceLocation where = SourceLocation::current())
      : std::runtime_error(message), code_(code), where_(where) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const SourceLocation& where() const noexcept { return where_; }

 private:
  ErrorCode code_;
  SourceLocation where_;
};

}  // namespace pillion

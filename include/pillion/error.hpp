// SPDX-License-Identifier: BSD-3-Clause
// The one exception that Pillion throws. Its code is the kind of remedy that is needed; its message
// names the failure, the value seen, and the remedy.
#pragma once

#include <cstdint>
#include <source_location>
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

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message,
        std::source_location where = std::source_location::current())
      : std::runtime_error(message), code_(code), where_(where) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  ErrorCode code_;
  std::source_location where_;
};

}  // namespace pillion

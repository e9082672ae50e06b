// SPDX-License-Identifier: BSD-3-Clause
// What is behind the handle of options.
#pragma once

#include <string>

#include "session/session.hpp"

struct pillion_options {
  pillion::session::Options options;
};

namespace pillion::capi {

/// C strings that may be absent.
inline std::string text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

}  // namespace pillion::capi

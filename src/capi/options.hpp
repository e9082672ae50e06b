// SPDX-License-Identifier: BSD-3-Clause
// What is behind the handle of options.
#pragma once

#include "runtime/session.hpp"

struct pillion_options {
  pillion::runtime::Options options;
};

// SPDX-License-Identifier: BSD-3-Clause
// How many collectives this process has called, the library's included. The definitions are in
// sidecar/messages_test.cpp, so that the linker takes them for the library's calls, too.
#pragma once

namespace collectives {

inline int count = 0;

}  // namespace collectives

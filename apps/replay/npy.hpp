// SPDX-License-Identifier: BSD-3-Clause
// What the head of a NumPy .npy file says (format versions 1 to 3 of numpy.lib.format).
#pragma once

#include <string_view>

#include "replay/stored.hpp"

namespace replay {

/// Bytes from the file's beginning to its first value, of which `begin` holds the first
/// npy_begin_size at least. Throws pillion::Error if it is no .npy file.
constexpr size_t npy_begin_size = 12;
size_t npy_head_size(std::string_view begin, const std::string& path);

/// Notes the type that NumPy calls so: "<f8" and the like.
void read_npy_type(const std::string& type, Stored& out);

/// Reads a whole head. Throws pillion::Error if it makes no sense.
Stored parse_npy_head(std::string_view head, const std::string& path);

/// Reads the head of a file, and sees that all the values are there.
Stored look_into_npy(const std::string& path);

}  // namespace replay

// SPDX-License-Identifier: BSD-3-Clause
// Entries of folders, for code that may lack memory. The standard library's iterator takes memory
// inside functions that must not throw, and ends the program if there is none.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace pillion::base {

/// Paths of a folder's entries but "." and "..", in any order; none if it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Removes a file, or a folder with all that is in it, as far as it can be removed. Returns why
/// something stays, if anything does; lack of memory is a reason.
std::error_code remove_all(const std::filesystem::path& path) noexcept;

}  // namespace pillion::base

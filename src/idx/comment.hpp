// SPDX-License-Identifier: BSD-3-Clause
// The times of steps in the text of a dataset. The format has no key for them, and its readers pass
// over comments; as part of the YAML document that products have at their head, the line is read
// without knowing the format.
#pragma once

#include <string_view>

namespace pillion::idx {

constexpr std::string_view times_comment = "# times: [";

}  // namespace pillion::idx

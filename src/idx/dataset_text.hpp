// SPDX-License-Identifier: BSD-3-Clause
// Words in the text of a dataset that its writer and its parser share.
#pragma once

#include <pillion/idx/dataset.hpp>
#include <string>
#include <string_view>

namespace pillion::idx {

// By what the blocks of a field are compressed: `raw`, `zip`, `lz4`, or `zfp-WRITE-READ`, where
// each is `reversible`, `precision=BITS` or `accuracy=TOLERANCE`. Readers split that at every
// hyphen and entries of fields at every plus, so numbers have no exponents.

std::string codec_name(const Field& field);

// A name is one word of the list of fields, in which blanks, parentheses, plus signs and lines that
// begin with # have a meaning. These are written as %XX, with their code in hexadecimal digits.

std::string escaped_name(const std::string& name);
std::string unescaped_name(const std::string& word);

/// Sets what the name says; false if it makes no sense.
bool read_codec(const std::string& name, Field& field);

// The times of steps. The format has no key for them, and its readers pass over comments; as part
// of the YAML document that products have at their head, the line is read without knowing the
// format.

constexpr std::string_view times_comment = "# times: [";

}  // namespace pillion::idx

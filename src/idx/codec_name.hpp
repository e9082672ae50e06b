// SPDX-License-Identifier: BSD-3-Clause
// How a dataset's text says by what the blocks of a field are compressed: `raw`, `zip`, `lz4`, or
// `zfp-WRITE-READ`, where each is `reversible`, `precision=BITS` or `accuracy=TOLERANCE`. Readers
// split that at every hyphen and entries of fields at every plus, so numbers have no exponents.
#pragma once

#include <pillion/idx/dataset.hpp>
#include <string>

namespace pillion::idx {

std::string codec_name(const Field& field);

/// Sets what the name says; false if it makes no sense.
bool read_codec(const std::string& name, Field& field);

}  // namespace pillion::idx

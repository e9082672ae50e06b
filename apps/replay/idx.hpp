// SPDX-License-Identifier: BSD-3-Clause
// IDX datasets, such as the stage `write` makes.
#pragma once

#include <pillion/idx/reader.hpp>

#include "replay/distribute.hpp"
#include "replay/stored.hpp"

namespace replay {

/// The fields that are wanted at the steps that are. Throws pillion::Error if the dataset
/// cannot be read, if it has no fine levels, or if a part of these fields is not there.
std::vector<StoredStep> look_into_idx(const std::string& path, const Wanted& wanted);

/// Reads a part as values of a field's type, one after the other, [z, y, x, component]. Returns the
/// bytes that it took from files.
int64_t read_idx(const pillion::idx::Reader& reader, const Stored& stored, const Part& part,
                 pillion_type type, std::byte* to);

}  // namespace replay

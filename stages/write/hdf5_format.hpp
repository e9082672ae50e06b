// SPDX-License-Identifier: BSD-3-Clause
// The format `hdf5`: a file for each step, or several that a further one shows as one.
#pragma once

#include <memory>
#include <pillion/stage.hpp>

#include "dataset_format.hpp"

namespace pillion::stages {

/// Fails if Pillion was built without HDF5.
std::unique_ptr<DatasetFormat> make_hdf5_format(stage::Setup& setup);

}  // namespace pillion::stages

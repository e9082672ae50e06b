// SPDX-License-Identifier: BSD-3-Clause
// Without the library of HDF5.
#include "hdf5_format.hpp"

namespace pillion::stages {

std::unique_ptr<DatasetFormat> make_hdf5_format(stage::Setup& setup) {
  setup["format"].fail(
      "this Pillion was built without HDF5 (Debian: libhdf5-openmpi-dev); there are idx and raw");
}

}  // namespace pillion::stages

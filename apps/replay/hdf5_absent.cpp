// SPDX-License-Identifier: BSD-3-Clause
// What stands in for hdf5.cpp where CMake has not found the library.
#include <pillion/error.hpp>

#include "replay/hdf5.hpp"

namespace replay {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw pillion::Error(pillion::ErrorCode::File,
                       "'" + path +
                           "' cannot be read: this pillion-replay was built without HDF5 (Debian: "
                           "libhdf5-openmpi-dev); build it anew, or convert the file to .npy");
}

}  // namespace

Hdf5Content look_into_hdf5(const std::string& path,
                           const std::function<bool(const std::string&)>&) {
  refuse(path);
}

void read_hdf5(const Stored& stored, const Part&, pillion_type, std::byte*) { refuse(stored.path); }

}  // namespace replay

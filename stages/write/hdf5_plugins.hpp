// SPDX-License-Identifier: BSD-3-Clause
// Filters of HDF5 that are plug-ins, such as those of the PyPI package hdf5plugin. The library
// looks for them where HDF5_PLUGIN_PATH says, without that in a folder of its own.
#pragma once

#include <dlfcn.h>

#include "hdf5_library.hpp"

namespace pillion::stages::hdf5 {

/// Whether the library has it. Plug-ins look for the library among the symbols that all share,
/// where it is not, since stages are loaded apart; so it is put there first.
inline bool has_filter(H5Z_filter_t filter) {
  Dl_info library;
  const bool is_plugin = filter >= H5Z_FILTER_RESERVED;
  if (is_plugin && dladdr(reinterpret_cast<void*>(&H5open), &library) != 0)
    dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  const Quiet quiet;
  return H5Zfilter_avail(filter) > 0;
}

}  // namespace pillion::stages::hdf5

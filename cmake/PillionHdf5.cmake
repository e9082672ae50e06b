# SPDX-License-Identifier: BSD-3-Clause
# Looks for HDF5 that works with this MPI: PkgConfig::hdf5, and HDF5_WORKS.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT TARGET PkgConfig::hdf5)
  pkg_check_modules(hdf5 QUIET IMPORTED_TARGET GLOBAL hdf5-openmpi)
endif()
if(TARGET PkgConfig::hdf5)
  # A library made for another MPI links, and fails when it runs.
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX PkgConfig::hdf5)
  set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  check_cxx_source_runs(
    "#include <hdf5.h>
    int main(int argc, char** argv) {
      MPI_Init(&argc, &argv);
      const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
      const herr_t status = H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL);
      H5Pclose(access);
      MPI_Finalize();
      return status < 0 ? 1 : 0;
    }"
    HDF5_WORKS
  )
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
  find_library(HDF5_HL hdf5_hl HINTS ${hdf5_LIBRARY_DIRS})
endif()

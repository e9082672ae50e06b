# SPDX-License-Identifier: BSD-3-Clause
# Looks for what datasets are compressed with: ZLIB::ZLIB, PkgConfig::lz4, and PILLION_CODECS if both
# are there; the target zfp, and PILLION_ZFP.
find_package(ZLIB QUIET)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT TARGET PkgConfig::lz4)
  pkg_check_modules(lz4 QUIET IMPORTED_TARGET GLOBAL liblz4)
endif()
set(codecs OFF)
if(ZLIB_FOUND AND TARGET PkgConfig::lz4)
  set(codecs ON)
endif()
set(PILLION_CODECS ${codecs} CACHE INTERNAL "whether zlib and LZ4 were found")

# What zfp brings for CMake asks for OpenMP, which is not needed here.
find_path(PILLION_ZFP_INCLUDE_DIR zfp.h)
find_library(PILLION_ZFP_LIBRARY zfp)
set(found OFF)
if(PILLION_ZFP_INCLUDE_DIR AND PILLION_ZFP_LIBRARY)
  set(found ON)
  if(NOT TARGET zfp)
    add_library(zfp UNKNOWN IMPORTED GLOBAL)
    set_target_properties(
      zfp
      PROPERTIES
        IMPORTED_LOCATION ${PILLION_ZFP_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${PILLION_ZFP_INCLUDE_DIR}
    )
  endif()
endif()
set(PILLION_ZFP ${found} CACHE INTERNAL "whether zfp was found")
if(NOT PILLION_ZFP)
  message(STATUS "zfp was not found: datasets are written and read without it")
endif()

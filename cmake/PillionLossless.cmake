# SPDX-License-Identifier: BSD-3-Clause
# Looks for lossless codes beside zlib and LZ4: zstd, liblzma and bzip2. What was found is in
# PILLION_LOSSLESS_LIBRARIES and PILLION_LOSSLESS_DEFINITIONS.
find_package(PkgConfig QUIET)
find_package(BZip2 QUIET)
unset(PILLION_LOSSLESS_LIBRARIES CACHE)
unset(PILLION_LOSSLESS_DEFINITIONS CACHE)
set(PILLION_LOSSLESS_LIBRARIES)
set(PILLION_LOSSLESS_DEFINITIONS)
foreach(code IN ITEMS zstd lzma)
  if(PkgConfig_FOUND AND NOT TARGET PkgConfig::${code})
    pkg_check_modules(${code} QUIET IMPORTED_TARGET GLOBAL lib${code})
  endif()
  if(TARGET PkgConfig::${code})
    string(TOUPPER PILLION_${code} definition)
    list(APPEND PILLION_LOSSLESS_DEFINITIONS ${definition})
    list(APPEND PILLION_LOSSLESS_LIBRARIES PkgConfig::${code})
  else()
    message(STATUS "lib${code} was not found: the stage encode does without this code")
  endif()
endforeach()
if(BZIP2_FOUND)
  list(APPEND PILLION_LOSSLESS_DEFINITIONS PILLION_BZIP2)
  list(APPEND PILLION_LOSSLESS_LIBRARIES ${BZIP2_LIBRARIES})
else()
  message(STATUS "bzip2 was not found: the stage encode does without this code")
endif()
set(
  PILLION_LOSSLESS_LIBRARIES
  ${PILLION_LOSSLESS_LIBRARIES}
  CACHE INTERNAL
  "of lossless codes that were found"
)
set(
  PILLION_LOSSLESS_DEFINITIONS
  ${PILLION_LOSSLESS_DEFINITIONS}
  CACHE INTERNAL
  "which lossless codes were found"
)

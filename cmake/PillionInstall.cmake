# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: the library, public headers, the header of no-ops as a folder
# that works alone, a package configuration for find_package(pillion), and files for pkg-config.
# Stages install themselves (pillion_add_stage), and so do the programs of apps/.
include(CMakePackageConfigHelpers)

set(PILLION_INSTALL_STAGE_DIR ${CMAKE_INSTALL_LIBDIR}/pillion/stages)
set(pillion_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pillion)
set(pillion_noop_dir ${CMAKE_INSTALL_INCLUDEDIR}/pillion-noop)

set_target_properties(pillion_headers PROPERTIES EXPORT_NAME headers)
set_target_properties(pillion_idx PROPERTIES EXPORT_NAME idx)

# For stage plug-ins: the headers, in the standard that stages are written in.
add_library(pillion_stage INTERFACE)
set_target_properties(pillion_stage PROPERTIES EXPORT_NAME stage)
target_link_libraries(pillion_stage INTERFACE pillion_headers MPI::MPI_CXX)
target_compile_features(pillion_stage INTERFACE cxx_std_20)

add_library(pillion_noop INTERFACE)
add_library(pillion::noop ALIAS pillion_noop)
set_target_properties(pillion_noop PROPERTIES EXPORT_NAME noop)
target_include_directories(pillion_noop INTERFACE $<INSTALL_INTERFACE:${pillion_noop_dir}>)
target_link_libraries(pillion_noop INTERFACE MPI::MPI_C)

install(
  TARGETS pillion pillion_headers pillion_idx pillion_noop pillion_stage
  EXPORT pillionTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/include/pillion ${PROJECT_BINARY_DIR}/include/pillion
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "*.hpp"
)
install(
  FILES
    ${PROJECT_SOURCE_DIR}/include-noop/pillion/pillion.h
    ${PROJECT_SOURCE_DIR}/include/pillion/types.h
    ${PROJECT_SOURCE_DIR}/include/pillion/error.hpp
    ${PROJECT_SOURCE_DIR}/include/pillion/cells.hpp
    ${PROJECT_SOURCE_DIR}/include/pillion/arrays.hpp
    ${PROJECT_SOURCE_DIR}/include/pillion/session.hpp
    ${PROJECT_BINARY_DIR}/include/pillion/version.h
  DESTINATION ${pillion_noop_dir}/pillion
)

# Programs that pages of the documentation use.
install(
  FILES
    ${PROJECT_SOURCE_DIR}/examples/heat/heat.c
    ${PROJECT_SOURCE_DIR}/examples/heat/heat.f90
    ${PROJECT_SOURCE_DIR}/examples/heat/pillion.yaml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/pillion/examples/heat
)
install(
  FILES
    ${PROJECT_SOURCE_DIR}/examples/spectral/spectral.c
    ${PROJECT_SOURCE_DIR}/examples/spectral/pillion.yaml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/pillion/examples/spectral
)

install(EXPORT pillionTargets NAMESPACE pillion:: DESTINATION ${pillion_package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/pillionConfig.cmake.in
  ${PROJECT_BINARY_DIR}/pillionConfig.cmake
  INSTALL_DESTINATION ${pillion_package_dir}
  PATH_VARS PILLION_INSTALL_STAGE_DIR
)
configure_file(
  ${CMAKE_CURRENT_LIST_DIR}/pillionFortran.cmake.in
  ${PROJECT_BINARY_DIR}/pillionFortran.cmake
  @ONLY
)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/pillionConfigVersion.cmake
  COMPATIBILITY SameMinorVersion
)
install(
  FILES
    ${PROJECT_BINARY_DIR}/pillionConfig.cmake
    ${PROJECT_BINARY_DIR}/pillionConfigVersion.cmake
    ${PROJECT_BINARY_DIR}/pillionFortran.cmake
  DESTINATION ${pillion_package_dir}
)

# The folder may be moved as a whole: paths are relative to the files.
set(pillion_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH PILLION_PC_TO_PREFIX /${pillion_pc_dir} /)
string(REGEX REPLACE "/$" "" PILLION_PC_TO_PREFIX "${PILLION_PC_TO_PREFIX}")
set(pillion_pc_names pillion pillion-noop)
if(PILLION_HAS_FORTRAN)
  list(APPEND pillion_pc_names pillion-fortran)
endif()
foreach(name IN LISTS pillion_pc_names)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pillion_pc_dir})
endforeach()

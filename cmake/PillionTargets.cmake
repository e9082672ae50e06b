# SPDX-License-Identifier: BSD-3-Clause
# How Pillion's own targets are compiled, and the functions that add stages and tests.

# Compile options of everything that is ours.
add_library(pillion_options INTERFACE)
target_compile_options(
  pillion_options
  INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra>"
    # Tests compare reals on purpose.
    "$<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-Wall;-Wextra;-Wno-compare-reals>"
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    # GCC 12 warns of its own std::string (GCC bug 105651).
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
)
if(PILLION_SANITIZE)
  target_compile_options(
    pillion_options
    INTERFACE -fsanitize=${PILLION_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined
  )
  target_link_options(pillion_options INTERFACE -fsanitize=${PILLION_SANITIZE})
endif()

# The public headers, with the version made from VERSION.
configure_file(
  ${CMAKE_CURRENT_SOURCE_DIR}/include/pillion/version.h.in
  ${CMAKE_CURRENT_BINARY_DIR}/include/pillion/version.h
  @ONLY
)
add_library(pillion_headers INTERFACE)
# The C++ bindings that old MPI libraries carry are not used, and would have to be linked.
target_compile_definitions(pillion_headers INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_include_directories(
  pillion_headers
  INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
)

# Where the build tree keeps plug-ins; the install tree keeps them in LIBDIR/pillion/stages.
set(PILLION_STAGE_DIR ${PROJECT_BINARY_DIR}/stages)

# pillion_add_stage(NAME SOURCES...) builds the plug-in that the YAML file calls NAME.
function(pillion_add_stage name)
  add_library(pillion_stage_${name} MODULE ${ARGN})
  target_link_libraries(
    pillion_stage_${name}
    PRIVATE pillion_options pillion_headers MPI::MPI_C MPI::MPI_CXX
  )
  set_target_properties(
    pillion_stage_${name}
    PROPERTIES
      PREFIX ""
      OUTPUT_NAME ${name}
      LIBRARY_OUTPUT_DIRECTORY ${PILLION_STAGE_DIR}
      CXX_VISIBILITY_PRESET hidden
  )
  install(TARGETS pillion_stage_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pillion/stages)
endfunction()

# Flags without which Open MPI refuses what tests do: more ranks than cores, as root.
set(PILLION_MPIEXEC_FLAGS "")
execute_process(
  COMMAND ${MPIEXEC_EXECUTABLE} --version
  OUTPUT_VARIABLE pillion_mpiexec_version
  ERROR_QUIET
)
if(pillion_mpiexec_version MATCHES "Open MPI|OpenRTE")
  set(PILLION_MPIEXEC_FLAGS --oversubscribe --allow-run-as-root --bind-to none)
endif()

if(PILLION_TESTS)
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
endif()

# pillion_add_test(NAME name COMMAND program-or-target args... [TIMEOUT seconds] [PROCESSORS number]
# [WORKING_DIRECTORY folder]) adds a test under a limit that follows the machine: see
# tests/limits.py, which runs it. The limit of ctest itself is for the case that this program hangs.
function(pillion_add_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT;PROCESSORS;WORKING_DIRECTORY" "COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  if(NOT arg_WORKING_DIRECTORY)
    set(arg_WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  # Assertions and sanitizers make tests slower.
  if(PILLION_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 4")
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(
    NAME ${arg_NAME}
    COMMAND
      ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/limits.py ${arg_TIMEOUT} ${program}
      ${arg_COMMAND}
    WORKING_DIRECTORY ${arg_WORKING_DIRECTORY}
  )
  math(EXPR longest "${arg_TIMEOUT} * 20 + 60")
  set_tests_properties(${arg_NAME} PROPERTIES PROCESSORS ${arg_PROCESSORS} TIMEOUT ${longest})
endfunction()

# pillion_add_mpi_test(NAME name COMMAND program-or-target args... RANKS 1 2 4 [TIMEOUT seconds])
# adds one test per number of ranks, called name.nRANKS.
function(pillion_add_mpi_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "COMMAND;RANKS" ${ARGN})
  list(GET arg_COMMAND 0 program)
  if(TARGET ${program})
    list(REMOVE_AT arg_COMMAND 0)
    list(PREPEND arg_COMMAND $<TARGET_FILE:${program}>)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    pillion_add_test(
      NAME ${arg_NAME}.n${ranks}
      COMMAND
        ${MPIEXEC_EXECUTABLE}
        ${MPIEXEC_NUMPROC_FLAG}
        ${ranks}
        ${PILLION_MPIEXEC_FLAGS}
        ${arg_COMMAND}
      PROCESSORS ${ranks}
      TIMEOUT ${arg_TIMEOUT}
    )
  endforeach()
endfunction()

# pillion_add_demo(NAME TARGETS...): what `make demo`, `make demo-cosmology` or `make demo-cfd` builds,
# with the programs of the command.
function(pillion_add_demo name)
  set(
    needs
    pillion-attach
    pillion-check
    pillion-sidecar
    pillion-stages
    ${ARGN}
  )
  set(missing "")
  foreach(needed IN LISTS needs)
    if(NOT TARGET ${needed})
      list(APPEND missing ${needed})
    endif()
  endforeach()
  if(missing)
    add_custom_target(
      demo_${name}
      COMMAND
        ${CMAKE_COMMAND} -E echo
        "demo: cannot be built, as requirements are missing: ${missing}; cmake prints what it did not find"
      COMMAND ${CMAKE_COMMAND} -E false
      VERBATIM
    )
  else()
    add_custom_target(demo_${name} DEPENDS ${needs})
  endif()
endfunction()

# A script that people run: `input` with the variables of the caller in it.
function(pillion_configure_program input output)
  configure_file(
    ${input}
    ${output}
    @ONLY
    FILE_PERMISSIONS
      OWNER_READ
      OWNER_WRITE
      OWNER_EXECUTE
      GROUP_READ
      GROUP_EXECUTE
      WORLD_READ
      WORLD_EXECUTE
  )
endfunction()

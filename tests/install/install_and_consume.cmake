# SPDX-License-Identifier: BSD-3-Clause
# Run by ctest (see CMakeLists.txt): every command must succeed, and the installed files must be all
# that the consumer needs.
set(prefix ${work}/prefix)
string(REPLACE "," ";" launch "${launch}")
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

# run(COMMAND...) stops the test unless the command succeeds.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${work} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}")
  endif()
endfunction()

run(
  ${CMAKE_COMMAND}
  --install
  ${pillion_build}
  --prefix
  ${prefix}
)

# Nek5000 and code_saturne are not there, but what builds their cases finds its own files.
run(${prefix}/bin/pillion-makenek --help)
foreach(file IN ITEMS nek_pillion.f pillion.mk)
  if(NOT EXISTS ${prefix}/share/pillion/nek5000/${file})
    message(FATAL_ERROR "${file} of the Nek5000 adapter was not installed")
  endif()
endforeach()
run(${prefix}/bin/pillion-saturne)
foreach(file IN ITEMS cs_pillion.c pillion_saturne.h pillion_code_saturne.py)
  if(NOT EXISTS ${prefix}/share/pillion/code_saturne/${file})
    message(FATAL_ERROR "${file} of the code_saturne adapter was not installed")
  endif()
endforeach()
run(
  ${CMAKE_COMMAND}
  -S
  ${consumer_source}
  -B
  ${work}/build
  -G
  ${generator}
  -D
  CMAKE_PREFIX_PATH=${prefix}
  -D
  CMAKE_C_COMPILER=${c_compiler}
  -D
  CMAKE_CXX_COMPILER=${cxx_compiler}
  -D
  "CMAKE_C_FLAGS=${flags}"
  -D
  "CMAKE_CXX_FLAGS=${flags}"
)
run(
  ${CMAKE_COMMAND}
  --build
  ${work}/build
  -j
  2
)

# A project in C alone must not need a C++ compiler or C++ parts of MPI.
run(
  ${CMAKE_COMMAND}
  -S
  ${consumer_source}/../consumer_in_c
  -B
  ${work}/build_in_c
  -G
  ${generator}
  -D
  CMAKE_PREFIX_PATH=${prefix}
  -D
  CMAKE_C_COMPILER=${c_compiler}
  -D
  "CMAKE_C_FLAGS=${flags}"
)
run(
  ${CMAKE_COMMAND}
  --build
  ${work}/build_in_c
  -j
  2
)

# A stage in a project in C++ alone, with the compiler's own standard.
run(
  ${CMAKE_COMMAND}
  -S
  ${consumer_source}/../consumer_in_cxx
  -B
  ${work}/build_in_cxx
  -G
  ${generator}
  -D
  CMAKE_PREFIX_PATH=${prefix}
  -D
  CMAKE_CXX_COMPILER=${cxx_compiler}
  -D
  "CMAKE_CXX_FLAGS=${flags}"
)
run(${CMAKE_COMMAND} --build ${work}/build_in_cxx)

# A project in Fortran alone, and one that compiles the sources by itself, with the no-ops.
if(fortran_compiler)
  run(
    ${CMAKE_COMMAND}
    -S
    ${consumer_source}/../consumer_in_fortran
    -B
    ${work}/build_in_fortran
    -G
    ${generator}
    -D
    CMAKE_PREFIX_PATH=${prefix}
    -D
    CMAKE_Fortran_COMPILER=${fortran_compiler}
    -D
    "CMAKE_Fortran_FLAGS=${flags}"
  )
  run(
    ${CMAKE_COMMAND}
    --build
    ${work}/build_in_fortran
    -j
    2
  )
  set(sources ${prefix}/share/pillion/fortran)
  file(MAKE_DIRECTORY ${work}/by_hand)
  run(
    ${c_wrapper}
    -I${prefix}/include/pillion-noop
    -c
    ${sources}/noop.c
    -o
    ${work}/by_hand/noop.o
  )
  run(
    ${fortran_wrapper}
    -J${work}/by_hand
    ${sources}/pillion_c_types.f90
    ${sources}/pillion_c.f90
    ${sources}/pillion_status.f90
    ${sources}/pillion_opening_options.f90
    ${sources}/pillion_sessions.f90
    ${sources}/pillion_sharing.f90
    ${sources}/pillion.f90
    ${consumer_source}/../consumer_in_fortran/consumer.f90
    ${work}/by_hand/noop.o
    -o
    ${work}/by_hand/consumer
  )
endif()

# Programs of a plain Makefile: MPI's wrappers, and the flags that pkg-config gives.
set(ENV{PKG_CONFIG_PATH} ${prefix}/${libdir}/pkgconfig)
file(MAKE_DIRECTORY ${work}/by_pkg_config)
# build_by_pkg_config(PACKAGE PROGRAM WRAPPER WORDS...)
function(build_by_pkg_config package program wrapper)
  execute_process(
    COMMAND ${pkg_config} --cflags --libs ${package}
    OUTPUT_VARIABLE found
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
  )
  separate_arguments(words UNIX_COMMAND "${flags} ${found}")
  run(
    ${wrapper}
    ${ARGN}
    ${words}
    -o
    ${work}/by_pkg_config/${program}
  )
endfunction()
build_by_pkg_config(pillion consumer_c ${c_wrapper} ${consumer_source}/consumer.c)
# Programs of the documentation's pages, as docs/programs.md makes them.
foreach(program IN ITEMS heat spectral)
  build_by_pkg_config(
    pillion
    ${program}
    ${c_wrapper}
    ${prefix}/share/pillion/examples/${program}/${program}.c
    -lm
  )
endforeach()
run(
  make
  -C
  ${consumer_source}
  "CXX=${cxx_wrapper} ${flags}"
  OUT=${work}/by_pkg_config
)
build_by_pkg_config(pillion-noop consumer_noop ${c_wrapper} ${consumer_source}/consumer.c)
if(fortran_compiler)
  build_by_pkg_config(
    pillion-fortran
    consumer_fortran
    ${fortran_wrapper}
    ${consumer_source}/../consumer_in_fortran/consumer.f90
  )
endif()

# Each program is given the build tree, from which nothing may have been loaded. The last three words
# of a run are the same everywhere: configuration, build tree, output folder.
set(ENV{PILLION_STAGE_PATH} ${work}/build_in_cxx)
set(yaml ${consumer_source}/pillion.yaml)

# check_table(FOLDER) stops the test unless the consumer's own stage counted right at the last step.
function(check_table folder)
  file(READ ${work}/${folder}/count/positive.csv table)
  if(NOT table MATCHES "\n3,6\n$")
    message(FATAL_ERROR "the plug-in's table is wrong:\n${table}")
  endif()
  if(NOT EXISTS ${work}/${folder}/summary/statistics_height.csv)
    message(FATAL_ERROR "the built-in stage left no table")
  endif()
endfunction()

foreach(folder IN ITEMS build by_pkg_config)
  foreach(program IN ITEMS consumer_c consumer_cxx)
    foreach(ranks IN ITEMS 1 2)
      run(
        ${launch}
        ${ranks}
        ${work}/${folder}/${program}
        ${yaml}
        ${pillion_build}
        ${folder}.${program}.n${ranks}
      )
      check_table(${folder}.${program}.n${ranks})
    endforeach()
  endforeach()
endforeach()

if(fortran_compiler)
  foreach(ranks IN ITEMS 1 2)
    run(
      ${launch}
      ${ranks}
      ${work}/build_in_fortran/consumer
      ${yaml}
      fortran.n${ranks}
    )
    check_table(fortran.n${ranks})
  endforeach()
  run(
    ${launch}
    1
    ${work}/by_pkg_config/consumer_fortran
    ${yaml}
    fortran_by_pkg_config
  )
  check_table(fortran_by_pkg_config)
  foreach(program IN ITEMS build_in_fortran/consumer_noop by_hand/consumer)
    run(
      ${launch}
      2
      ${work}/${program}
      ${yaml}
      unused
    )
  endforeach()
endif()

run(
  ${launch}
  1
  ${work}/build/consumer_c
  ${yaml}
  ${pillion_build}
  beside
  :
  ${launch_count}
  1
  ${prefix}/bin/pillion-sidecar
)
check_table(beside)

# Sidecars of a job of their own, by the installed command: the library asks the installed
# pillion-attach what they will need, which may load nothing of the build tree either.
file(READ ${yaml} separate)
file(
  WRITE ${work}/separate.yaml
  "sidecars: {job: separate, memory: 4 MiB, when_full: wait, deadline: 60 s}\n${separate}"
)
execute_process(
  COMMAND ${launch} 1 ${work}/build/consumer_c ${work}/separate.yaml ${pillion_build} separate 60
  COMMAND ${prefix}/bin/pillion attach separate --wait 60
  WORKING_DIRECTORY ${work}
  RESULTS_VARIABLE statuses
)
if(NOT statuses STREQUAL "0;0")
  message(FATAL_ERROR "a simulation and its separate sidecars ended with ${statuses}")
endif()
check_table(separate)

# Of a stage that was not built it is known that it comes with Pillion.
set(statistics ${prefix}/${libdir}/pillion/stages/statistics.so)
file(RENAME ${statistics} ${work}/statistics.so)
file(
  WRITE ${work}/missing.yaml
  "output: missing\nmeshes: {m: {kind: uniform, cells: [8], length: [1]}}\n"
  "fields: {f: {mesh: m, type: float64}}\n"
  "analyses: {a: {stages: [{statistics: {fields: [f]}}]}}\n"
)
execute_process(
  COMMAND ${prefix}/bin/pillion check ${work}/missing.yaml
  OUTPUT_VARIABLE said
  ERROR_VARIABLE said
)
if(NOT said MATCHES "stage 'statistics' comes with Pillion but is not built here")
  message(FATAL_ERROR "a stage that is not installed: ${said}")
endif()
file(RENAME ${work}/statistics.so ${statistics})

run(${prefix}/bin/pillion --version)
run(${prefix}/bin/pillion runs)
run(
  ${prefix}/bin/pillion
  replay
  -n
  2
  --help
)
foreach(file IN ITEMS bin/pillion-attach share/pillion/python/pillion/__main__.py)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

# A dataset without files has its fill value everywhere.
file(
  WRITE ${work}/grid.idx
  "(version)\n6\n(box)\n0 4 0 2\n(fields)\ndensity uint8 default_value(7)\n(bits)\nV01010\n"
  "(bitsperblock)\n2\n(blocksperfile)\n1\n(filename_template)\n./grid/%04x.bin\n"
)
run(${work}/build/read_dataset ${work}/grid.idx)

foreach(program IN ITEMS build/consumer_noop by_pkg_config/consumer_noop)
  run(
    ${launch}
    2
    ${work}/${program}
    ${yaml}
    ${pillion_build}
    unused
  )
endforeach()
if(EXISTS ${work}/unused)
  message(FATAL_ERROR "the header of no-ops wrote something")
endif()

# SPDX-License-Identifier: BSD-3-Clause
# Run by ctest (see CMakeLists.txt): every command must succeed, and the installed files must be all
# that the consumer needs.
set(prefix ${work}/prefix)
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

run(${CMAKE_COMMAND} --install ${pillion_build} --prefix ${prefix})
run(
  ${CMAKE_COMMAND} -S ${consumer_source} -B ${work}/build -G ${generator}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_C_COMPILER=${c_compiler}
  -D CMAKE_CXX_COMPILER=${cxx_compiler} -D "CMAKE_C_FLAGS=${flags}" -D "CMAKE_CXX_FLAGS=${flags}"
)
run(${CMAKE_COMMAND} --build ${work}/build -j 2)

# Each program is given the build tree's path, from which nothing may have been loaded.
foreach(program IN ITEMS consumer_c consumer_cxx)
  foreach(ranks IN ITEMS 1 2)
    set(ENV{PILLION_STAGE_PATH} ${work}/build/stages)
    run(${launch} ${ranks} ${work}/build/${program} ${consumer_source}/pillion.yaml
        ${pillion_build}/src ${program}.n${ranks})
    file(READ ${work}/${program}.n${ranks}/count/positive.csv table)
    if(NOT table MATCHES "\n3,6\n$")
      message(FATAL_ERROR "the plug-in's table is wrong:\n${table}")
    endif()
  endforeach()
endforeach()
foreach(ranks IN ITEMS 1 2)
  run(${launch} ${ranks} ${work}/build/consumer_noop ${consumer_source}/pillion.yaml
      ${pillion_build} unused)
endforeach()

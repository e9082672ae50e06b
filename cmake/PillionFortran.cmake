# SPDX-License-Identifier: BSD-3-Clause
# Looks for a Fortran compiler and an MPI that has the module mpi_f08 for it: MPI::MPI_Fortran, and
# PILLION_HAS_FORTRAN if both are there and PILLION_FORTRAN is wanted.
option(PILLION_FORTRAN "Build the Fortran modules if a compiler and mpi_f08 are found" ON)

set(why "")
if(NOT PILLION_FORTRAN)
  set(why "PILLION_FORTRAN is off")
else()
  include(CheckLanguage)
  if(NOT CMAKE_Fortran_COMPILER)
    unset(CMAKE_Fortran_COMPILER CACHE) # one may have been installed since
  endif()
  check_language(Fortran)
  if(NOT CMAKE_Fortran_COMPILER)
    set(why "no Fortran compiler was found")
  else()
    enable_language(Fortran)
    find_package(MPI QUIET COMPONENTS Fortran)
    if(TARGET MPI::MPI_Fortran)
      include(CheckSourceCompiles)
      set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_Fortran)
      check_source_compiles(
        Fortran
        "program main
          use mpi_f08
          call MPI_Init()
          call MPI_Finalize()
        end program"
        MPI_F08_WORKS
      )
      unset(CMAKE_REQUIRED_LIBRARIES)
    endif()
    if(NOT MPI_F08_WORKS)
      set(why "this MPI has no module mpi_f08 for ${CMAKE_Fortran_COMPILER}")
    endif()
  endif()
endif()

set(found ON)
if(why)
  set(found OFF)
  message(STATUS "The Fortran modules are not built: ${why}")
endif()
set(PILLION_HAS_FORTRAN ${found} CACHE INTERNAL "whether the Fortran modules are built")

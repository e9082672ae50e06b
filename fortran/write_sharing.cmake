# SPDX-License-Identifier: BSD-3-Clause
# pillion_write_sharing(FILE) writes the module pillion_sharing from pillion_sharing.f90.in and the
# procedures each_*.f90.in, which are repeated for every element type, rank, and kind of index.

# What the templates say of a rank: dimensions, the first element, bounds, how strides are found.
macro(pillion_describe rank)
  set(dimensions "")
  set(first "")
  set(bounds "")
  set(strides "")
  foreach(d RANGE 1 ${rank})
    list(APPEND dimensions ":")
    list(APPEND first "from(${d})")
    list(APPEND bounds "from(${d}):")
  endforeach()
  foreach(d RANGE 1 ${rank})
    string(REPLACE "(${d})" "(${d}) + 1" next "${first}")
    list(JOIN next ", " next)
    string(APPEND strides "    if (size(data, ${d}) > 1) &\n")
    string(APPEND strides "      view%strides(${d}) = distance(view%data, c_loc(data(${next})))\n")
  endforeach()
  foreach(name IN ITEMS dimensions first bounds)
    list(JOIN ${name} ", " ${name})
  endforeach()
endmacro()

macro(pillion_repeat template)
  file(READ ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${template}.f90.in text)
  string(CONFIGURE "${text}" text @ONLY)
  string(APPEND procedures "${text}")
endmacro()

function(pillion_write_sharing file)
  set(type_of_int8 "integer(int8)")
  set(type_of_int16 "integer(int16)")
  set(type_of_int32 "integer(int32)")
  set(type_of_int64 "integer(int64)")
  set(type_of_float32 "real(real32)")
  set(type_of_float64 "real(real64)")
  foreach(index IN ITEMS int32 int64)
    pillion_repeat(each_index)
    list(APPEND alike alike_${index})
    foreach(kind IN ITEMS int8 ${index})
      pillion_repeat(each_cells)
      list(APPEND cells cells_${kind}_${index})
    endforeach()
  endforeach()
  foreach(element IN ITEMS float32 float64)
    set(type ${type_of_${element}})
    pillion_repeat(each_real)
    list(APPEND points points_${element})
    list(APPEND xyz xyz_${element})
  endforeach()
  foreach(
    element
    IN
    ITEMS int8 int16 int32 int64 float32 float64
  )
    set(type ${type_of_${element}})
    foreach(index IN ITEMS int32 int64)
      pillion_repeat(each_type_and_index)
      list(APPEND strided strided_${element}_${index})
    endforeach()
    foreach(
      rank
      IN
      ITEMS 1 2 3 4 5
    )
      set(name ${element}_${rank})
      pillion_describe(${rank})
      pillion_repeat(each_array)
      list(APPEND view view_${name})
      list(APPEND swap swap_${name})
      foreach(index IN ITEMS int32 int64)
        pillion_repeat(each_array_and_index)
        list(APPEND elements elements_${name}_${index})
        list(APPEND allocate allocate_${name}_${index})
        if(rank LESS 5)
          pillion_repeat(each_box)
          list(APPEND box box_${name}_${index})
        endif()
        if(rank LESS 3)
          pillion_repeat(each_particles)
          list(APPEND particles particles_${name}_${index})
          list(APPEND values values_${name}_${index})
        endif()
      endforeach()
    endforeach()
  endforeach()
  foreach(
    interface
    IN
    ITEMS box strided particles elements allocate swap view alike cells points xyz values
  )
    list(JOIN ${interface} ", &\n      " ${interface})
  endforeach()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pillion_sharing.f90.in ${file} @ONLY)
endfunction()

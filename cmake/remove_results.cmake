# SPDX-License-Identifier: BSD-3-Clause
# Removes what runs have left in the folders below `folder`: cmake -D folder=… -P remove_results.cmake
file(GLOB left ${folder}/*/results ${folder}/*/second ${folder}/*/checkpoint)
if(left)
  file(REMOVE_RECURSE ${left})
endif()

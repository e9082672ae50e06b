// SPDX-License-Identifier: BSD-3-Clause
// A step that stages work on, as one rank sees it: blocks of every mesh, and the domains.
#pragma once

#include <pillion/types.h>

#include <map>
#include <string>

#include "layout/request.hpp"
#include "model/block.hpp"

namespace pillion::stagehost {

struct Publication {
  int64_t step = 0;
  double time = 0;
  int32_t coarsening = 0;  ///< level of model::coarsen; 0: whole
  std::map<std::string, layout::Received> meshes;
  std::map<std::string, pillion_domain> domains;
};

}  // namespace pillion::stagehost

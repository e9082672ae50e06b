// SPDX-License-Identifier: BSD-3-Clause
// A step that stages work on, as one rank sees it: blocks of every mesh, domains, coordinates; and
// what a running stage knows about it and about the run, and what the stage works with.
#pragma once

#include <pillion/types.h>

#include <map>
#include <string>

#include "layout/request.hpp"
#include "model/block.hpp"
#include "products/table.hpp"

namespace pillion::comm {
class Communicator;
class Fence;
}  // namespace pillion::comm

namespace pillion::products {
class Timeline;
}

namespace pillion::stagehost {

class Plans;
class ScalarSeries;
class Sink;

struct Publication {
  int64_t step = 0;
  double time = 0;
  int32_t coarsening = 0;  ///< level of model::coarsen; 0: whole
  std::map<std::string, layout::Received> meshes;
  std::map<std::string, pillion_domain> domains;
  std::map<std::string, model::Faces> coordinates;  ///< of meshes whose program sets them
  bool is_checked = false;  ///< the boxes of its meshes were found to fit together
};

struct ExecutionContext {
  const comm::Communicator* peers = nullptr;
  comm::Fence* fence = nullptr;
  const model::Catalogue* catalogue = nullptr;
  Plans* plans = nullptr;  ///< of redistribution among the peers
  Sink* sink = nullptr;
  products::Timeline* timeline = nullptr;  ///< where stages are noted, if anywhere
  products::Origin origin;                 ///< with the scalars of the step
  const ScalarSeries* scalars = nullptr;   ///< of all publications that the stage has seen
  int64_t before = 0;                      ///< publications that the analysis has worked on before
  double interval = 0;
  bool products_due = false;
};

}  // namespace pillion::stagehost

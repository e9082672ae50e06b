// SPDX-License-Identifier: BSD-3-Clause
// What a running stage knows about the publication and the run, and what it works with.
#pragma once

#include "comm/agreement.hpp"
#include "model/catalogue.hpp"
#include "products/timeline.hpp"
#include "stagehost/plans.hpp"
#include "stagehost/publication.hpp"
#include "stagehost/sink.hpp"

namespace pillion::stagehost {

struct ExecutionContext {
  const comm::Communicator* peers = nullptr;
  comm::Fence* fence = nullptr;
  const model::Catalogue* catalogue = nullptr;
  Plans* plans = nullptr;  ///< of redistribution among the peers
  Sink* sink = nullptr;
  products::Timeline* timeline = nullptr;  ///< where stages are noted, if anywhere
  products::Origin origin;
  int64_t before = 0;  ///< publications that the analysis has worked on before
  double interval = 0;
  bool products_due = false;
};

}  // namespace pillion::stagehost

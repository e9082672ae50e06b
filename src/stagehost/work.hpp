// SPDX-License-Identifier: BSD-3-Clause
// One stage working on one publication: what it reads, in the layout it asked for, what it
// produces, and the peers it works with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/agreement.hpp"
#include "stagehost/publication.hpp"
#include "stagehost/setup.hpp"
#include "stagehost/sink.hpp"

namespace pillion::stagehost {

/// What a stage is told about the publication and the run.
struct Circumstances {
  const comm::Communicator* peers = nullptr;
  comm::Fence* fence = nullptr;
  const model::Catalogue* catalogue = nullptr;
  Sink* sink = nullptr;
  products::Origin origin;
  int64_t before = 0;  ///< publications that the analysis has worked on before
  double interval = 0;
  bool products_due = false;
};

/// An input in the form that a plug-in sees. Holds the memory of what was moved.
struct Input {
  std::vector<std::vector<pillion_array>> arrays;  ///< by block
  std::vector<pillion_block> blocks;
  model::MeshBlocks moved;
};

}  // namespace pillion::stagehost

/// The handle that a plug-in sees.
struct pillion_work {
  const pillion_setup* setup = nullptr;
  pillion::stagehost::Publication* publication = nullptr;
  const pillion::stagehost::Circumstances* circumstances = nullptr;
  std::vector<pillion::stagehost::Input> inputs;
};

namespace pillion::stagehost {

/// Brings a request's data where it is wanted. [collective over the peers if it moves]
Input bring(const layout::Request& request, const Publication& publication,
            const Circumstances& circumstances);

/// Memory for an output on one block of an input.
void* produce(pillion_work& work, int32_t output, int32_t input, int32_t index);

/// Throws if a stage has left out a block of an output that it declared.
void check_outputs(const pillion_setup& setup, const Publication& publication,
                   const model::Catalogue& catalogue);

}  // namespace pillion::stagehost

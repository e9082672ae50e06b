// SPDX-License-Identifier: BSD-3-Clause
// One stage working on one publication: what it reads, in the layout it asked for, what it
// produces, and the peers it works with.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/scratch_buffer.hpp"
#include "redistribution/exchange.hpp"
#include "stagehost/box_points.hpp"
#include "stagehost/cell_mover.hpp"
#include "stagehost/coverage.hpp"
#include "stagehost/field_redistributor.hpp"
#include "stagehost/peer_messages.hpp"
#include "stagehost/publication.hpp"
#include "stagehost/setup.hpp"

namespace pillion::stagehost {

/// An input in the form that a plug-in sees.
struct Input {
  std::vector<std::vector<pillion_array>> arrays;           ///< by block
  std::vector<std::vector<const pillion_array*>> pointers;  ///< by block: to these
  std::vector<pillion_block> blocks;
  /// Of a curvilinear mesh in a layout of its own, with their points.
  std::vector<model::Block> moved;
  std::vector<size_t> places;  ///< by block, as shared: which of the publication's it is
  /// Elsewhere, once something is produced: which of the publication's have this level, lo and hi.
  std::map<std::tuple<int32_t, std::array<int64_t, 3>, std::array<int64_t, 3>>, size_t> boxes;
  std::vector<Flags> flags;                ///< by block, where any block has flags
  std::vector<pillion_array> flag_arrays;  ///< by block: of these, or of cells that name points
  std::vector<pillion_array> coordinates;  ///< by block of a mesh that has points
  std::vector<pillion_array> weights;      ///< by block of a mesh that names one
  std::vector<pillion_connectivity> connectivity;  ///< the same
  std::vector<base::Bytes> packed_coordinates;     ///< where their components lay apart
};

// Blocks point into the other members, which must stay where they are when an input moves.
static_assert(std::is_nothrow_move_constructible_v<Input>);

/// What moves an input, and the memory that it moves to, good until the next publication.
struct Movers {
  FieldRedistributor cells;
  redistribution::ParticleExchange particles;
  BoxPoints points;
  CellMover unstructured;
  CheckedCells checked;
  base::ScratchBuffer together;  ///< components that the program has in arrays of their own
};

}  // namespace pillion::stagehost

/// The handle that a plug-in sees.
struct pillion_work {
  const pillion_setup* setup = nullptr;
  pillion::stagehost::Publication* publication = nullptr;
  const pillion::stagehost::ExecutionContext* context = nullptr;
  std::vector<pillion::stagehost::Input> inputs;
  std::map<int32_t, std::set<int32_t>> produced{};  ///< by output: on which blocks
  bool withheld = false;                            ///< later stages do not see the publication
  std::string folder{};                             ///< of products, once asked for
  std::string origin{};                             ///< of the product last asked about
  std::map<std::string, pillion_mesh> meshes{};     ///< that were asked about
  std::map<std::string, std::vector<int32_t>> ratios{};  ///< of these
  std::map<std::string, pillion::model::Faces> faces{};  ///< to which these point
  std::map<std::string, std::vector<const char*>> patches{};
  pillion::stagehost::Received received{};  ///< by the last exchange among the peers
};

namespace pillion::stagehost {

/// A mesh as it is in the publication; throws if there is none of that name.
const pillion_mesh& mesh_of(pillion_work& work, const std::string& name);

/// The domain of a mesh of particles; throws if the program has set none.
const pillion_domain& domain_of(const Publication& publication, const std::string& mesh);

/// Brings a request's data where it is wanted; the movers are the request's own. [collective over
/// the peers if it moves]
Input bring(const layout::Request& request, const Publication& publication,
            const ExecutionContext& context, Movers& movers);

/// Memory for an output on one block of an input.
void* produce(pillion_work& work, int32_t output, int32_t input, int32_t index);

/// The same on a box of an output that is on boxes of a mesh.
void* produce_box(pillion_work& work, int32_t output, const model::Box& box);

/// Throws if a stage has left out a block of an output that it declared.
void check_outputs(const pillion_work& work);

}  // namespace pillion::stagehost

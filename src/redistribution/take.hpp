// SPDX-License-Identifier: BSD-3-Clause
// The side of a publication that receives: unpacks what senders have packed, from the messages
// alone. Whole blocks are read where they lie in the message, regions are copied once into the
// receiver's own boxes, and particles once into one block.
#pragma once

#include <memory>
#include <span>

#include "base/scratch_buffer.hpp"
#include "layout/request.hpp"
#include "redistribution/kept_arrays.hpp"
#include "redistribution/message_layout.hpp"

namespace pillion::redistribution {

using layout::Routes;

/// By mesh: what this rank has received of a publication.
using ReceivedMeshes = std::map<std::string, layout::Received>;

/// Keeps what a message brings for later ones, according to its layout; `values` are all of its
/// values. Throws ErrorCode::Internal if there are fewer than the layout says.
void keep(const MessageLayout& layout, std::span<const std::byte> values, KeptArrays& kept);

class Taker {
 public:
  /// Begins a publication of that coarsening for one of `ranks` receivers: makes the blocks of
  /// divided meshes, as yet without values.
  void begin(const Routes& routes, const model::Catalogue& catalogue, int coarsening, int rank,
             int receivers, ReceivedMeshes& out);
  /// Takes the values of one message; `keep` holds their memory. What the message leaves out comes
  /// from `kept`, which may be null if it leaves out nothing. The layout must stay until the
  /// publication is finished. Throws ErrorCode::Internal, before it reads or writes anything out of
  /// place, if the layout asks for more values than there are, for cells that are not this rank's,
  /// or for one field in two types.
  void take(const MessageLayout& layout, std::span<const std::byte> values,
            const std::shared_ptr<const void>& keep, ReceivedMeshes& out,
            const KeptArrays* kept = nullptr);
  /// Makes what was taken blocks of their meshes. `scattered`: some particles came whole, so that
  /// none are in the layout that was asked for.
  void finish(const Routes& routes, const model::Catalogue& catalogue, bool scattered,
              ReceivedMeshes& out);

 private:
  /// A divided mesh on its way in.
  struct Incoming {
    /// What has come of a block, without its ghost cells.
    struct Region {
      size_t block;
      model::Box box;
      const RegionLayout* list;  ///< the fields to take
    };
    std::vector<size_t> places;  ///< by number of the box: which of the blocks it is
    std::vector<Region> regions;
    /// By the fields of a list of regions.
    std::vector<std::pair<std::vector<FieldType>, std::vector<FieldArrays>>> arrays;
  };
  void take_regions(const RegionLayout& list, const std::byte* values, const std::byte* constants,
                    ReceivedMeshes& out);
  const std::vector<FieldArrays>& arrays_for(const std::string& mesh,
                                             const std::vector<FieldType>& fields,
                                             Incoming& incoming, layout::InLayout& laid_out);
  void make_arrays(const std::string& mesh, const FieldType& field, layout::InLayout& laid_out);
  void add_boxes(ReceivedMeshes& out) const;

  std::map<std::string, base::ScratchBuffer> rooms_;  ///< by mesh and field
  std::map<std::string, Incoming> incoming_;
  std::map<std::string, std::vector<std::span<const std::byte>>> particles_;  ///< by mesh
};

}  // namespace pillion::redistribution

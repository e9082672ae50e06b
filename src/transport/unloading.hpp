// SPDX-License-Identifier: BSD-3-Clause
// The sidecars' end of shipments. Who sends what to whom is said in heads and bills, which come
// only when something has changed; sidecars pass on among themselves whom to expect messages from,
// so that no simulation rank ever waits for an answer. They also balance whole blocks.
#pragma once

#include "base/scratch_buffer.hpp"
#include "comm/sparse.hpp"
#include "comm/tags.hpp"
#include "transport/inbox.hpp"
#include "transport/shipment.hpp"

namespace pillion::transport {

/// A publication as it has come to one sidecar.
struct Cargo {
  Meshes meshes;                                     ///< all blocks, as boxes without ghost cells
  std::map<std::string, layout::Arrived> arrived{};  ///< by mesh: what is in a layout of its own
};

class Unloading {
 public:
  /// Simulation ranks are ranks of `wire`; sidecars those of `side`.
  Unloading(const comm::Communicator& wire, const comm::Communicator& side)
      : wire_(wire),
        side_(side),
        passing_on_(side, comm::tags::publication_passed_on),
        inbox_(wire, comm::tags::publication_body) {}

  /// Adds what did not come with the heads. `heads` are those of the ranks that send theirs here,
  /// by rank; `agreed` is what all sidecars know of them, and nothing of it can be used if it was
  /// dropped. [collective over the sidecars]
  void unload(const Announcement& agreed, const std::map<int, Announcement>& heads,
              const Routes& routes, const model::Catalogue& catalogue, Cargo& cargo);
  /// Takes in what has come for the next publications.
  void look();
  /// What simulation ranks should know about whose blocks are whose; once.
  base::Bytes take_word() { return std::exchange(word_, {}); }

 private:
  /// What is known about a set of analyses.
  struct Terms {
    std::map<int, std::set<int32_t>> targets;  ///< by rank that sends its head here
    std::set<int> senders;                     ///< ranks that send something here
    std::map<int, Bill> bills;                 ///< by sender
    MeshCuts cuts;
    int64_t sequence = 0;
  };
  Terms& terms_of(const Announcement& agreed);
  /// Ranks from which messages come this time.
  std::vector<int> expected(const Announcement& agreed, const std::map<int, Announcement>& heads,
                            Terms& terms);
  /// Particles that were dealt to this sidecar, by mesh.
  using Dealt = std::map<std::string, std::vector<std::span<const std::byte>>>;
  void unload_body(const Bill& bill, const Letter& letter, size_t at, Cargo& cargo, Dealt& dealt);
  static const Bill& bill_of(int sender, const Letter& letter, const Announcement& agreed,
                             Terms& terms, size_t& values);
  /// Makes the blocks of divided meshes, as yet without values.
  void prepare(const Announcement& agreed, const Routes& routes, const model::Catalogue& catalogue,
               Cargo& cargo);
  size_t unload_parts(const Parts& parts, const std::byte* from, layout::Arrived& arrived);
  void add_boxes(Cargo& cargo);
  void make_room(const std::string& mesh, const Item& item, layout::Arrived& arrived);
  void balance(const Announcement& agreed, const Routes& routes, const model::Catalogue& catalogue,
               Terms& terms, const Cargo& cargo);

  /// Parts of the fields of a mesh that have come.
  struct Landed {
    std::vector<size_t> places;  ///< by number of the box: which of the blocks it is
    struct Region {
      size_t block;
      model::Box region;
      const Parts* parts;
    };
    std::vector<Region> regions;
  };

  const comm::Communicator& wire_;
  const comm::Communicator& side_;
  comm::SparseExchange passing_on_;
  Inbox inbox_;
  std::map<DueSet, Terms> terms_;
  std::set<int> known_;                               ///< ranks that have ever sent anything here
  std::map<std::string, base::ScratchBuffer> rooms_;  ///< by mesh and field
  std::map<std::string, Landed> landed_;              ///< by mesh, of this publication
  base::Bytes word_;
};

}  // namespace pillion::transport

// SPDX-License-Identifier: BSD-3-Clause
// The sidecars' end of messages that go directly to the sidecars that process them. Headers list
// senders and receivers, and messages describe their contents, only when that has changed. Sidecars
// pass on among themselves from whom to expect messages, so that no simulation rank ever waits for
// an answer. They also balance whole blocks.
#pragma once

#include "comm/message.hpp"
#include "redistribution/take.hpp"
#include "transport/inbox.hpp"
#include "transport/publication_header.hpp"

namespace pillion::transport {

using redistribution::ReceivedMeshes;
using redistribution::Routes;

class DirectReceiver {
 public:
  /// Simulation ranks are ranks of `wire`; sidecars those of `side`.
  DirectReceiver(const comm::Communicator& wire, const comm::Communicator& side, ReceiveRoom& room)
      : side_(side),
        passing_on_(side, comm::tags::publication_passed_on),
        inbox_(wire, comm::tags::publication_body, comm::tags::large_publication_body, room) {}

  /// Adds what did not come with the headers. `heads` are those of the ranks that send theirs here,
  /// by rank; `agreed` is what all sidecars know of them, and nothing of it can be used if it was
  /// dropped. [collective over the sidecars]
  void receive(const PublicationHeader& agreed, const std::map<int, PublicationHeader>& heads,
               const Routes& routes, const model::Catalogue& catalogue, ReceivedMeshes& out);
  /// Takes in what has come for the next publications. Any thread.
  void look() { inbox_.look(); }
  /// What a simulation rank whose headers come here should know about whose blocks are whose, if
  /// that has changed; once.
  base::Bytes take_cuts(int rank);
  /// From how many ranks messages are expected, for tests.
  [[nodiscard]] size_t senders() const { return inbox_.sources(); }

 private:
  /// What is known about a set of analyses.
  struct Schema {
    std::map<int, std::set<int32_t>> targets;              ///< by rank that sends its header here
    std::map<int, MeshKeys> keys;                          ///< by the same ranks
    std::map<int, MeshCuts> sent_cuts;                     ///< by the same ranks
    std::set<int> senders;                                 ///< ranks that send something here
    std::map<int, redistribution::MessageLayout> layouts;  ///< by sender
    std::map<std::string, redistribution::Cuts> cuts;      ///< all of them, by mesh
    int64_t sequence = 0;
  };
  Schema& schema_of(const PublicationHeader& agreed);
  /// Ranks from which messages come this time.
  std::vector<int> expected(const PublicationHeader& agreed,
                            const std::map<int, PublicationHeader>& heads, Schema& schema);
  /// The layout of a message, and where its values begin.
  static const redistribution::MessageLayout& layout_of(int sender, const Message& message,
                                                        const PublicationHeader& agreed,
                                                        Schema& schema, size_t& values);
  void balance(const PublicationHeader& agreed, const Routes& routes,
               const model::Catalogue& catalogue, Schema& schema, const ReceivedMeshes& received);
  /// Notes for each rank the cuts around its boxes, if it does not know them.
  void update_cuts(const DueSet& due, Schema& schema);

  const comm::Communicator& side_;
  comm::SparseExchange passing_on_;
  Inbox inbox_;
  redistribution::Taker taker_;
  std::map<DueSet, Schema> schemas_;
  std::map<int, redistribution::KeptArrays> kept_;  ///< by sender
  std::map<int, base::ByteWriter> new_cuts_;        ///< by rank
};

}  // namespace pillion::transport

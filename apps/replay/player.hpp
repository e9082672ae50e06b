// SPDX-License-Identifier: BSD-3-Clause
// Plays frames in a session, as a simulation would offer its steps.
#pragma once

#include <mpi.h>

#include <map>
#include <pillion/session.hpp>
#include <string>
#include <vector>

#include "replay/frames.hpp"
#include "replay/read.hpp"

namespace replay {

/// What this rank has done.
struct Tally {
  int64_t steps = 0;
  int64_t due = 0;    ///< of these, those with something to do
  int64_t bytes = 0;  ///< read
};

class Player {
 public:
  /// `fields` are those that analyses use. The communicator is that of the simulation ranks.
  Player(pillion::Session& session, std::vector<pillion::Field> fields, Indices indices,
         MPI_Comm comm);

  /// Offers frames, reading only what is due. Throws the same on every rank. [collective]
  Tally play(const std::vector<Frame>& frames);

 private:
  /// Shares what this rank has of a frame; without reading it, if nobody will look at it.
  void share(const Frame& frame, bool with_values);
  void share_grid(const pillion::Field& field, const Stored& stored, bool with_values);
  void share_particles(const pillion::Field& field, const Stored& stored, bool with_values);
  /// The part of a mesh that this rank has, axis by axis; the same for all its fields.
  const Part& part_of_mesh(const pillion::Field& field, const Arrangement& arrangement);
  [[nodiscard]] std::byte* memory(const std::string& field, int64_t values, pillion_type type);
  void set_domains(const Frame& frame);

  pillion::Session& session_;
  std::vector<pillion::Field> fields_;
  Indices indices_;
  MPI_Comm comm_;
  FieldReader files_;
  int rank_ = 0, ranks_ = 1;
  std::map<std::string, Part> parts_;                     ///< by mesh
  std::map<std::string, std::vector<std::byte>> memory_;  ///< by field
  Domains domains_;                                       ///< as they were set last
  Tally tally_;
};

}  // namespace replay

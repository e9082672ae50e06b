// SPDX-License-Identifier: BSD-3-Clause
// The MPI tags of the library, each once. A tag with a pair of numbers alternates between them, so
// that a rank that is one exchange ahead is not misread.
#pragma once

namespace pillion::comm::tags {

inline constexpr int gathered = 1;
inline constexpr int exchanged = 2;

inline constexpr int publication = 11;  // from the simulation to its sidecars
inline constexpr int finished = 12;
inline constexpr int publication_body = 13;
inline constexpr int sidecar_failure = 14;
inline constexpr int load_report = 15;

inline constexpr int redistribution_plan = 21;  // and 22
inline constexpr int redistribution_values = 23;
inline constexpr int node_meeting = 25;    // and 26
inline constexpr int particle_sizes = 27;  // and 28
inline constexpr int particle_values = 29;
inline constexpr int publication_passed_on = 31;  // and 32, on the sidecars' own communicator
inline constexpr int stage_message_sizes = 33;    // and 34
inline constexpr int stage_messages = 35;
inline constexpr int stage_turn = 36;

}  // namespace pillion::comm::tags

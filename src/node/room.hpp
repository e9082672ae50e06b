// SPDX-License-Identifier: BSD-3-Clause
// How much memory may still be taken: of /dev/shm, of the node, and of the job, whose control
// groups the batch system or the container has limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pillion::node {

/// Bytes that may still be taken: in /dev/shm, and of this node's or job's memory.
struct Room {
  int64_t shared_memory = 0;
  int64_t memory = 0;
};
Room find_room();
/// Throws ErrorCode::File if /dev/shm would be nearly full with `bytes` more: MPI and the program
/// may need the rest, and a store into memory that is not there ends them.
void check_shared_room(size_t bytes);
/// Throws ErrorCode::Configuration with the numbers if `wanted` bytes are not there.
/// `purpose` ends "... are needed for ".
void check_room(const Room& room, int64_t wanted, const std::string& purpose);

/// What the control groups of this process leave, of version 1 and of version 2, up to the root of
/// each hierarchy; the largest number if there is no limit. Pages of files that were read do not
/// count as used, since the kernel gives them up first. `root` is the folder that has /proc and
/// what is mounted.
[[nodiscard]] int64_t available_in_groups(const std::string& root);

}  // namespace pillion::node

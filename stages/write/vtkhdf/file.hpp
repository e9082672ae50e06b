// SPDX-License-Identifier: BSD-3-Clause
// Writes a file of VTKHDF. One peer makes it with room for all rows, and every peer puts its own
// there. No call of HDF5 needs another peer, so a peer that fails delays no other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <pillion/stage.hpp>

#include "content.hpp"

namespace pillion::stages::write_vtkhdf {

struct Cost {
  double seconds = 0;
  int64_t bytes = 0;  ///< that this peer has written
};

/// How files are written.
struct Writing {
  int64_t at_once = 0;  ///< peers that write at the same time; 0: all
  bool durable = true;
};

/// Throws on every peer if one has failed, and then there is no file. [peers]
Cost write_file(const stage::Step& step, const Content& content, const std::filesystem::path& path,
                const Writing& how);

}  // namespace pillion::stages::write_vtkhdf

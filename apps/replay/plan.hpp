// SPDX-License-Identifier: BSD-3-Clause
// Looking at all files, before anything runs: one rank does it, and tells the others.
#pragma once

#include <functional>
#include <pillion/session.hpp>
#include <string>
#include <vector>

#include "replay/frames.hpp"
#include "replay/options.hpp"

namespace replay {

/// What is said about the files: in the file that was given, or beside them. Throws pillion::Error.
About gather_about(const Options& options);

/// All frames for the fields that are used, of which `fields` are part; every array is seen to fit
/// its field, and every particle mesh to have a domain. Throws pillion::Error. What is well to know
/// is said to `warn`.
std::vector<Frame> make_plan(const Options& options, const std::vector<pillion::Field>& fields,
                             const std::function<void(const std::string&)>& warn);

/// Frames as bytes, and back.
std::string bytes_of(const std::vector<Frame>& frames);
std::vector<Frame> read_frames(const std::string& bytes);

}  // namespace replay

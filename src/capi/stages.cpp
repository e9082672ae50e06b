// SPDX-License-Identifier: BSD-3-Clause
// Lists stages for people. A plug-in that cannot be loaded is said to be so, and the rest go on.
#include <pillion/stages.h>

#include "base/guard.hpp"
#include "stagehost/plugin.hpp"

using pillion::stagehost::Plugin;

extern "C" pillion_status pillion_each_stage(void (*tell)(const pillion_found_stage*, void*),
                                             void* context) {
  return pillion::base::guard([&] {
    for (const auto& name : pillion::stagehost::stage_names(pillion::stagehost::stage_folders())) {
      try {
        const Plugin plugin(name, {});
        const std::string file = plugin.path().string();
        const pillion_found_stage found{name.c_str(), file.c_str(), &plugin.table(), ""};
        tell(&found, context);
      } catch (const pillion::Error& e) {
        const pillion_found_stage found{name.c_str(), "", nullptr, e.what()};
        tell(&found, context);
      }
    }
  });
}

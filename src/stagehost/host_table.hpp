// SPDX-License-Identifier: BSD-3-Clause
// The table of functions through which plug-ins reach the host.
#pragma once

#include <pillion/stage.h>

namespace pillion::stagehost {

const pillion_stage_host& host_table();

}  // namespace pillion::stagehost

# SPDX-License-Identifier: BSD-3-Clause
"""Plans of simulation ranks and sidecars on a machine, which need not exist.

`make_plan(machine("64 nodes of numa:2 core:16"), per_node=8)` decides as a session does when it is
opened, by the same code; `pillion plan` prints and draws it, and writes the files that launchers
read.
"""

from pillion.plan.planning import Machine, Plan, machine, make_plan

__all__ = ["Machine", "Plan", "machine", "make_plan"]

# SPDX-License-Identifier: BSD-3-Clause
"""Process grids: how many ranks along x, y and z.

`best_grid(96, box=(10, 10, 40))` is the grid that exchanges least at the faces of its sub-boxes.
`best_pair(1536, 512)` is the best pair of grids for a simulation and an analysis that run side by
side, where every sub-box of the analysis holds whole sub-boxes of the simulation.

docs/howto-grids.md defines the best grid and gives reasons. All of it is arithmetic: nothing here
is measured.
"""

from pillion.grids.grid import Grid, best_grid
from pillion.grids.pair import Pair, best_pair

__all__ = ["Grid", "Pair", "best_grid", "best_pair"]

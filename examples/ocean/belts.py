# SPDX-License-Identifier: BSD-3-Clause
"""A stage in Python: the mean temperature of the tropics, and of what lies polewards of them."""

import numpy as np
import pillion


@pillion.stage("temperature")
def belts(step, between=23.44):
    """Means by area, of cells whose centre lies between these latitudes, and of the others."""
    mesh = step.mesh("globe")
    sums = np.zeros((2, 2))
    for block in step.blocks:
        area = mesh.volumes(block.lo, block.hi)
        latitude = mesh.centres[1][block.lo[1] : block.hi[1]]
        for row, belt in enumerate((abs(latitude) < between, abs(latitude) >= between)):
            here = area[:, belt]
            sums[row] += (here * block["temperature"][:, belt]).sum(), here.sum()
    total = step.sum(sums)
    return {
        "tropics": total[0, 0] / total[0, 1],
        "elsewhere": total[1, 0] / total[1, 1],
        "area": total[:, 1].sum(),
    }

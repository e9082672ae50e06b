# SPDX-License-Identifier: BSD-3-Clause
"""A stage in Python: how high the waves still are, one along each axis."""

import numpy as np
import pillion


@pillion.stage("temperature")
def waves(step, number=1):
    """Amplitudes of cos(2 pi number x / L) along the axes x, y and z."""
    field = step.field("temperature")
    sums = np.zeros(3)
    for block in step.blocks:
        values = block["temperature"]
        for axis, (lo, hi, cells) in enumerate(zip(block.lo, block.hi, field.cells, strict=True)):
            wave = np.cos(2 * np.pi * number * (np.arange(lo, hi) + 0.5) / cells)
            others = tuple(a for a in range(3) if a != axis)
            sums[axis] += 2 * (values.sum(axis=others) * wave).sum() / np.prod(field.cells)
    return dict(zip("xyz", step.sum(sums), strict=True))

# SPDX-License-Identifier: BSD-3-Clause
"""Stages that compare coordinates of blocks with the ones in the simulation."""

import curvilinear_program as program
import numpy as np
import pillion
from scipy.ndimage import uniform_filter

DIVIDED = {
    "blocks": dict(layout="blocks", ghosts=(0, 1, 2)),
    "slabs": dict(layout="slabs", axis=2),
    "pencils": dict(layout="pencils", axis=1, ghosts=1),
    "bricks": dict(layout="powers_of_two", sides=1),
    "transform": dict(layout="transform"),
}


def check(step, blocks):
    mesh = step.mesh("shell")
    assert (mesh.kind, mesh.dimensions, mesh.faces) == ("curvilinear", 3, ())
    cells = 0
    for block in blocks:
        assert block.connectivity is None
        wanted = program.places(block.lo, block.hi, step.index)
        np.testing.assert_array_equal(block.coordinates, wanted)
        np.testing.assert_array_equal(
            block["shell_u"], program.values(block.lo, block.hi, step.index)
        )
        assert not block.coordinates.flags.writeable
        cells += np.prod(np.subtract(block.inner_hi, block.inner_lo))
    return step.sum(cells)


@pillion.stage("shell_u")
def look_at_curvilinear(step):
    return {"cells": check(step, step.blocks)}


@pillion.stage(inputs=[pillion.Input(["shell_u"], **one) for one in DIVIDED.values()])
def look_at_divided(step):
    blocks = {name: step.blocks_of(n) for n, name in enumerate(DIVIDED)}
    assert all(np.prod(block["shell_u"].shape) <= 8 for block in blocks["bricks"])
    return {name: check(step, found) for name, found in blocks.items()}


@pillion.stage("shell_u", layout="blocks", ghosts=1, outputs={"smooth": pillion.Output()})
def smooth(step):
    """Means over neighbours; the mesh ends where there are none."""
    for block in step.blocks:
        means = uniform_filter(block["shell_u"], 3, mode="nearest")
        lo = np.subtract(block.inner_lo, block.lo)
        hi = np.subtract(block.inner_hi, block.lo)
        block.produce("smooth")[...] = means[tuple(map(slice, lo, hi))]

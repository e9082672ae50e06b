# SPDX-License-Identifier: BSD-3-Clause
"""A stage that compares the coordinates of blocks with those that the simulation has."""

import curvilinear_program as program
import numpy as np
import pillion


@pillion.stage("shell_u")
def look_at_curvilinear(step):
    mesh = step.mesh("shell")
    assert (mesh.kind, mesh.dimensions, mesh.faces) == ("curvilinear", 3, ())
    cells = 0
    for block in step.blocks:
        assert block.connectivity is None
        wanted = program.places(block.lo, block.hi, step.index)
        np.testing.assert_array_equal(block.coordinates, wanted)
        np.testing.assert_array_equal(
            block["shell_u"], program.values(block.lo, block.hi, step.index)
        )
        assert not block.coordinates.flags.writeable
        cells += block.count
    return {"cells": step.sum(cells)}

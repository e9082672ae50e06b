# SPDX-License-Identifier: BSD-3-Clause
"""Compares values at faces with those of the program, and makes the divergence of each cell."""

import faces_program as program
import numpy as np
import pillion


@pillion.stage(["u", "v", "w", "size_of_u"], points=True, outputs={"half": pillion.Output()})
def look(step):
    worst = 0.0
    for block in step.blocks:
        for name in ("u", "v", "w"):
            wanted = program.values(name, list(block.lo), list(block.hi), step.index)
            np.testing.assert_array_equal(block[name], wanted)
        np.testing.assert_array_equal(block["size_of_u"], abs(block["u"]))
        out = block.produce("half")
        assert out.shape == block["u"].shape
        out[...] = block["u"] / 2
        divergence = sum(np.diff(block[n], axis=a) for a, n in enumerate("uvw"))
        worst = max(worst, abs(divergence).max())
    return {"divergence": step.max(worst)}

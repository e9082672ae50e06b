# SPDX-License-Identifier: BSD-3-Clause
"""Puts values at points of a cube together, where blocks have the same ones at their borders."""

import numpy as np
import pillion
import points_program


@pillion.stage(["t", "v", "speed"], points=True)
def gather(step):
    shape = [n + 1 for n in points_program.CUBE]
    whole = np.full((2, *shape), -np.inf)
    for block in step.blocks:
        at = tuple(slice(a, b + 1) for a, b in zip(block.lo, block.hi, strict=True))
        assert block["t"].shape == whole[0][at].shape == block["v"].shape[:-1]
        whole[0][at] = block["t"]
        whole[1][at] = block["speed"] ** 2
        np.testing.assert_allclose(whole[1][at], (block["v"] ** 2).sum(axis=-1), rtol=1e-12)
    whole = step.max(whole)
    return {"sum": whole[0].sum(), "speed": whole[1].sum()}

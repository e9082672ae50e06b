# SPDX-License-Identifier: BSD-3-Clause
"""Compares flags and weights of blocks with what the program has."""

import masks_program as program
import numpy as np
import pillion


def box(block):
    return list(block.lo), list(block.hi)


def expect(block, mesh, masked, weighed, step):
    hidden = program.mask(*box(block), step) == 0
    flags = np.zeros(hidden.shape, np.uint8) if block.flags is None else block.flags
    np.testing.assert_array_equal(flags, np.where(hidden & masked, 32, 0), mesh)
    assert (block.flags is not None) == (masked and hidden.any())
    assert (block.weight is not None) == weighed
    if weighed:
        wanted = program.weight(*box(block), step)
        np.testing.assert_allclose(block.weight, wanted, rtol=1e-7)


FIELDS = {"sea_t": (True, False), "cut_t": (False, True), "bar_t": (True, True),
          "ring_c": (True, True)}  # fmt: skip


@pillion.stage(inputs=[pillion.Input(name, levels=True) for name in FIELDS])
def look(step):
    seen = 0.0
    for number, (mesh, (masked, weighed)) in enumerate(FIELDS.items()):
        for block in step.blocks_of(number):
            expect(block, mesh, masked, weighed, step.index)
            seen += block.count
    return {"cells": step.sum(seen)}

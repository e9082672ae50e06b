# SPDX-License-Identifier: BSD-3-Clause
"""Compares the fields of `types_program` with what the program has, and makes one of them anew."""

import numpy as np
import pillion
import types_program as program

NAMES = (*program.TYPES, "wet", "pair")


@pillion.stage([*NAMES], outputs={"half": pillion.Output(type="uint16")})
def look(step):
    for block in step.blocks:
        place = tuple(slice(a, b) for a, b in zip(block.lo, block.hi, strict=True))
        for name in NAMES:
            wanted = program.values(name, step.index)[place]
            assert block[name].dtype == (np.uint8 if name == "wet" else wanted.dtype), name
            np.testing.assert_array_equal(block[name], wanted, name)
        block.produce("half")[...] = block["uint16"] // 2

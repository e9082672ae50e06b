# SPDX-License-Identifier: BSD-3-Clause
"""Compares the fields of `types_program` with what the program has, and makes a field of one.
Particles are moved beside small integers, whatever the layout."""

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


def charges(step):
    """How many particles are here; each must have kept its charge."""
    seen = 0
    for block in step.blocks:
        ids, count = block["id"], block.owned
        wanted = program.values("charge", step.index)[ids]
        np.testing.assert_array_equal(block["charge"], wanted)
        np.testing.assert_array_equal(
            block["position"], program.values("position", step.index)[ids]
        )
        seen += count
    return {"particles": step.sum(seen)}


ATOMS = ("charge", "id", "position")


@pillion.stage([*ATOMS], layout="by_key", key="id")
def by_key(step):
    return charges(step)


@pillion.stage([*ATOMS], layout="spatial", position="position")
def spatial(step):
    return charges(step)

# SPDX-License-Identifier: BSD-3-Clause
"""A stage that writes what it sees of blocks of unstructured meshes, a file for each peer."""

import json

import numpy as np
import pillion

INPUTS = [pillion.Input(["pressure", "number", "velocity"]), pillion.Input(["stress"])]


def listed(array):
    if array is None:
        return None
    assert not array.flags.writeable and not array.flags.owndata
    return {"type": array.dtype.name, "values": array.tolist()}


def seen(block, fields):
    cells = {name: listed(array) for name, array in vars(block.connectivity).items()}
    assert block.connectivity is block.connectivity and block.lo == ()
    owned = block.inner(fields[0])
    assert len(owned) == block.owned
    return {
        "number": block.number,
        "cells": block.cells._asdict(),
        "points": block.points._asdict(),
        "count": block.count,
        "coordinates": listed(block.coordinates),
        "flags": listed(block.flags),
        "connectivity": cells,
        "fields": {field: listed(block[field]) for field in fields},
        "owned": np.asarray(owned).tolist(),
    }


@pillion.stage(inputs=INPUTS)
def look(step):
    skin = step.mesh("skin")
    assert (skin.kind, skin.of, skin.dimensions) == ("unstructured", "fluid", 2)
    fluid = step.mesh("fluid")
    assert (fluid.of, fluid.patches, fluid.dimensions, fluid.units) == (None, (), 3, "m")
    assert step.field("velocity").centering == "point" and step.field("stress").axes == 0
    found = {
        name: [seen(block, wanted.fields) for block in step.blocks_of(i)]
        for i, (name, wanted) in enumerate(zip(("fluid", "skin"), INPUTS, strict=True))
    }
    text = json.dumps({**found, "patches": skin.patches})
    (step.folder / f"{step.index}.{step.peer}.json").write_text(text, encoding="utf-8")

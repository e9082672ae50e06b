# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python on spectral elements, for test_spectral.py: as shared, by key, with outputs of
both centerings."""

import numpy as np
import pillion


@pillion.stage(
    ["velocity", "number"],
    outputs={
        "peak": pillion.Output(centering="cell", components=3),
        "shifted": pillion.Output(components=1, type="float32"),
    },
)
def produce(step):
    """The largest value of each component in an element, and x-velocity plus number at points."""
    for block in step.blocks:
        velocity, number = block["velocity"], block["number"]
        assert velocity.shape[1:] == (3, 4, 4, 4) and number.shape == velocity.shape[:1]
        block.produce("peak")[...] = velocity.max(axis=(2, 3, 4))
        block.produce("shifted")[...] = velocity[:, 0] + number[:, None, None, None]


@pillion.stage(inputs=[pillion.Input(["velocity", "number", "drift"], "by_key", key="number")])
def owned(step):
    """Elements are sorted by number at their owners, and their values come with them."""
    elements, weighted, corner = 0, 0.0, 0.0
    field = step.field("velocity")
    assert (field.order, field.centering, field.coordinates) == (3, "point", "xyz")
    assert step.field("drift").points == 0 and field.mesh_kind == "spectral"
    for block in step.blocks:
        number, velocity = block["number"], block["velocity"]
        assert np.all(np.diff(number) > 0)
        assert np.array_equal(velocity[:, :2].sum(axis=(2, 3, 4)), block["drift"])
        elements += len(number)
        weighted += float((number * velocity[:, 2].max(axis=(1, 2, 3))).sum())
        corner += float((number * velocity[:, 1, 3, 1, 2]).sum())
    return {
        "elements": step.sum(elements),
        "weighted": step.sum(weighted),
        "corner": step.sum(corner),
    }


@pillion.stage(
    ["velocity"],
    outputs={
        "peak": pillion.Output(components=1, centering="cell"),
        "doubled": pillion.Output(components=2),
    },
)
def flat(step):
    """Elements of two dimensions have points [j, i]; peak is over those with j = 2."""
    for block in step.blocks:
        velocity = block["velocity"]
        assert velocity.shape[1] == 2 and velocity.ndim == 4
        block.produce("peak")[...] = velocity[:, 1, 2].max(axis=1)
        block.produce("doubled")[...] = 2 * velocity

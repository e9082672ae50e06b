# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python that fail, in all ways that people find."""

import os
import sys
import time

import numpy as np
import pillion

kept = []


def _when(step, at=1):
    return step.index == at


@pillion.stage("density")
def raises(step):
    if _when(step):
        raise ValueError("this cannot be\nin two lines")


@pillion.stage("density")
def raises_on_one(step):
    if _when(step) and step.peer == step.peers - 1:
        raise RuntimeError("only here")
    return {"sum": step.sum(1.0)}


@pillion.stage("density")
def leaves(step):
    if _when(step):
        sys.exit("enough")


@pillion.stage("density")
def returns_nonsense(step):
    return [1, 2, 3] if _when(step) else None


@pillion.stage("density")
def returns_texts(step):
    return {"name": "a text"}


@pillion.stage("density")
def returns_other_columns(step):
    return {"a" if step.index < 1 else "b": 1.0}


@pillion.stage("density")
def keeps(step):
    kept.append(step.blocks[0]["density"])


@pillion.stage("density")
def keeps_step(step):
    kept.append(step)
    if step.index > 0:
        kept[0].sum(1.0)


@pillion.stage("density")
def writes(step):
    step.blocks[0]["density"][...] = 0


@pillion.stage("density")
def bad_table(step):
    step.table("t", {"a": [1, 2], "b": [1.0]})


@pillion.stage("density")
def bad_role(step):
    step.table("t", {"a": [1.0], "b": [1.0]}, roles={"b": "error of c"})


@pillion.stage("density")
def forgets(step):
    """No failure: what only a circle of references holds is not kept."""
    circle = {"array": step.blocks[0]["density"]}
    circle["self"] = circle


@pillion.stage("density")
def recurses(step):
    if _when(step):
        recurses(step)


@pillion.stage("density")
def dies(step):
    if _when(step) and step.peer == 0:
        os._exit(3)


@pillion.stage("density")
def hangs(step):
    if _when(step):
        time.sleep(3600)


def no_stage(step):
    pass


@pillion.stage("density", outputs={"other": pillion.Output(type="complex64")})
def bad_output(step):
    pass


@pillion.stage(
    inputs=lambda cutoff: [pillion.Input("density", "spatial", position="density", halo=cutoff)]
)
def bad_input(step, cutoff):
    pass


@pillion.stage("density")
def sums_of_other_shapes(step):
    step.sum(np.zeros(2 + step.peer))


@pillion.stage("density")
def sums_texts(step):
    step.sum("three")

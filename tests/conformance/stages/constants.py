# SPDX-License-Identifier: BSD-3-Clause
"""Stages that look at every value of the program constant_program.py."""

import time
from pathlib import Path

import numpy as np
import pillion


def check(step, names):
    import constant_program as program

    wrong = cells = 0
    for block in step.blocks:
        lo, hi = list(block.lo), list(block.hi)
        expected = {
            "c": program.constant(lo, hi),
            "v": np.stack([program.constant(lo, hi, c) for c in range(3)], axis=-1),
        }
        for name in names:
            wrong += int((block[name] != expected[name]).sum())
        inner = program.changing(block.inner_lo, block.inner_hi, step.index)
        wrong += int((block.inner("u") != inner).sum())
        cells += block["u"].size
    return {"wrong": step.sum(wrong), "cells": step.sum(cells)}


@pillion.stage(["u", "c", "v"])
def as_shared(step):
    return check(step, ["c", "v"])


@pillion.stage(["u", "c", "v"], layout="blocks", ghosts=1)
def in_blocks(step):
    return check(step, ["c", "v"])


@pillion.stage(["c", "u"], layout="slabs")
def in_slabs(step):
    return check(step, ["c"])


@pillion.stage(["u", "c"])
def one_constant(step):
    return check(step, ["c"])


@pillion.stage(["u", "v"])
def hold(step):
    """Waits in its first step for the simulation."""
    while not Path("go").exists():
        time.sleep(0.01)
    return {"one": 1.0}

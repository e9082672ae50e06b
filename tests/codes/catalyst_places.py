# SPDX-License-Identifier: BSD-3-Clause
"""A stage that compares values of the program catalyst_meshes with the places of their cells and
points, as both arrive.
"""

import numpy as np
import pillion

CELLS = ["apart", "joined", "mixed", "number", "single", "small"]


def faces_of(mesh, level):
    """Along each axis, with every coarse cell divided into 2^level."""
    for faces in mesh.faces:
        count = (len(faces) - 1) * 2**level
        yield np.interp(np.arange(count + 1) / 2**level, np.arange(len(faces)), faces)


def in_box(mesh, block, points):
    if block.coordinates is not None:
        corners = block.coordinates
        if points:
            return corners
        ends = [slice(None, -1), slice(1, None)]
        return np.mean([corners[i, j, k] for i in ends for j in ends for k in ends], axis=0)
    along = []
    for faces, lo, hi in zip(faces_of(mesh, block.level), block.lo, block.hi, strict=True):
        here = faces[lo : hi + 1]
        along.append(here if points else (here[:-1] + here[1:]) / 2)
    return np.stack(np.meshgrid(*along, indexing="ij"), axis=-1)


def of_cells(block):
    cells = block.connectivity
    ends = zip(cells.offsets[:-1], cells.offsets[1:], strict=True)
    return np.array([block.coordinates[cells.points[a:b]].mean(axis=0) for a, b in ends])


def places(step, mesh, block, points=False):
    if block.connectivity is not None:
        return block.coordinates if points else of_cells(block)
    return in_box(step.mesh(mesh), block, points)


class Difference:
    def __init__(self):
        self.cells, self.worst = 0, 0.0

    def add(self, step, block, wanted):
        own = np.full(wanted.shape[:-1], True) if block.flags is None else block.flags == 0
        own = own.reshape(wanted.shape[:-1])
        self.cells += own.sum()
        if not own.any():
            return
        now = wanted + step.index
        for name in ("apart", "joined", "mixed"):
            self.note(block[name][own] - now[own])
        self.note(block["single"][own] - now[own][..., 0].astype(np.float32))
        # Whole numbers were cut off.
        for name, exact in (("number", 8 * wanted[..., 0]), ("small", 8 * now[..., 2])):
            lost = abs(block[name][own].astype(float)) - abs(exact[own])
            self.note(np.where((lost > -1 - 1e-9) & (lost <= 1e-9), 0, lost))

    def note(self, difference):
        self.worst = max(self.worst, float(abs(difference).max(initial=0)))

    def over(self, step):
        return {"cells": step.sum(int(self.cells)), "worst": step.max(self.worst)}


@pillion.stage(CELLS, levels=True)
def at_cells(step, mesh="grid"):
    found = Difference()
    for block in step.blocks:
        found.add(step, block, places(step, mesh, block))
    return found.over(step)


@pillion.stage([*CELLS, "position"])
def at_particles(step):
    found = Difference()
    for block in step.blocks:
        found.add(step, block, block["position"].astype(float))
    return found.over(step)


@pillion.stage("corner", points=True)
def at_points(step):
    """Points that blocks share count in each."""
    worst, count = 0.0, 0
    for block in step.blocks:
        wanted = places(step, "grid", block, points=True) + step.index
        worst = max(worst, float(abs(block["corner"] - wanted).max()))
        count += wanted.size // 3
    return {"points": step.sum(count), "worst": step.max(worst)}


@pillion.stage(["joined", "number"])
def addresses(step):
    (block,) = step.blocks
    return {n: block[n].__array_interface__["data"][0] for n in ("joined", "number")}

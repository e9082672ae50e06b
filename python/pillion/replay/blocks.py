# SPDX-License-Identifier: BSD-3-Clause
"""Meshes whose files have blocks at levels of refinement: which blocks a rank reads and shares.

Ranks get equal shares of the cells, in whole blocks, in the order in which files list them: by
level, and within a level by place. Neighbours are mostly with one rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pillion.datasets.plotfiles import Plotfile
from pillion.datasets.raw_blocks import RawField, RawIndex


@dataclass(frozen=True)
class SharedBlock:
    """A block: its box, x first, in cells of its level."""

    level: int
    lo: tuple[int, ...]
    extent: tuple[int, ...]
    # Reads all values of a field into [z, y, x, component].
    read: Callable[[np.ndarray], None]


def own_blocks(sizes: Sequence[int] | np.ndarray, rank: int, ranks: int) -> range:
    """The numbers of a rank's blocks, given the number of cells of each. All ranks together have
    all blocks.
    """
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    if len(ends) == 0:
        return range(0)
    # A block belongs to the rank in whose share of the cells its middle lies.
    middles = ends - np.asarray(sizes, dtype=np.int64) / 2
    owners = np.minimum((middles * ranks / ends[-1]).astype(np.int64), ranks - 1)
    first, end = np.searchsorted(owners, [rank, rank + 1])
    return range(int(first), int(end))


def blocks_of_plotfile(
    plotfile: Plotfile, components: Sequence[str], rank: int, ranks: int
) -> list[SharedBlock]:
    """A rank's blocks of a field with these components."""
    boxes = [(level, box) for level in plotfile.levels for box in range(len(level.boxes))]
    extents = [level.boxes[:, 1] - level.boxes[:, 0] for level in plotfile.levels]
    sizes = np.concatenate([extent.prod(axis=1) for extent in extents])
    out = []
    for number in own_blocks(sizes, rank, ranks):
        level, box = boxes[number]
        lo, hi = level.boxes[box]

        def read(to: np.ndarray, level=level, box=box) -> None:  # type: ignore[no-untyped-def]
            level.read(box, components, to)

        out.append(SharedBlock(level.number, tuple(lo.tolist()), tuple((hi - lo).tolist()), read))
    return out


def blocks_of_raw(index: RawIndex, field: RawField, rank: int, ranks: int) -> list[SharedBlock]:
    """A rank's blocks of a field of raw files."""
    blocks = sorted(index.blocks, key=lambda block: (block.level, *(lo for lo, _ in block.box)))
    out = []
    for number in own_blocks([block.count for block in blocks], rank, ranks):
        block = blocks[number]
        lo = tuple(a for a, _ in block.box)[::-1]
        extent = tuple(b - a for a, b in block.box)[::-1]

        def read(to: np.ndarray, block=block) -> None:  # type: ignore[no-untyped-def]
            field.read_block(block, to if field.inner else to[..., 0])

        out.append(SharedBlock(block.level, lo, extent, read))
    return out

# SPDX-License-Identifier: BSD-3-Clause
"""Meshes that are shared in the blocks that their files have, and which blocks a rank reads. They
have levels of refinement, missing cells, points in their blocks, or spectral elements.

Ranks get equal shares of the cells, in whole blocks, in the order in which files list them: by
level, and within a level by place. Neighbours are mostly with one rank.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pillion.datasets.plotfiles import Plotfile
from pillion.datasets.raw_blocks import Arrays, RawBlock, RawField, RawIndex
from pillion.insitu.catalogue import Field
from pillion.insitu.session import Session


@dataclass(frozen=True)
class SharedBlock:
    """A block: its box, x first, in cells of its level; of an unstructured mesh a number of cells
    or points, of a spectral one of elements."""

    level: int
    lo: tuple[int, ...] | None  # None of a block that is no box
    extent: tuple[int, ...]  # of the values
    # Reads all values of a field into [z, y, x, component]; of elements, points come last.
    read: Callable[[np.ndarray], None]


def own_blocks(sizes: Sequence[int] | np.ndarray, rank: int, ranks: int) -> range:
    """The numbers of a rank's blocks, given the number of cells of each. All ranks together have
    all blocks.
    """
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    if len(ends) == 0 or ends[-1] == 0:
        return range(len(ends) if rank == 0 else 0)
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


def own_raw_blocks(index: RawIndex, rank: int, ranks: int) -> list[RawBlock]:
    """A rank's blocks: the same for all fields of a mesh, whatever wrote them."""
    blocks = sorted(
        index.blocks,
        key=lambda block: (block.id, block.level, *(lo for lo, _ in block.box)),
    )
    own = [blocks[n] for n in own_blocks([block.count for block in blocks], rank, ranks)]
    if len(own) > 1 and not any(block.offsets for block in own):
        # Slabs of one array. Points between them would count twice.
        slab, end = own[0].box[0], own[-1].box[0][1]
        return [replace(own[0], box=((slab[0], end), *own[0].box[1:]))]
    return own


def blocks_of_raw(index: RawIndex, field: RawField, rank: int, ranks: int) -> list[SharedBlock]:
    """A rank's blocks of a field of raw files."""
    out = []
    for block in own_raw_blocks(index, rank, ranks):
        lo = tuple(a for a, _ in block.box)[::-1]
        extent = tuple(b - a for a, b in field.box_of(block))[::-1]

        def read(to: np.ndarray, block=block) -> None:  # type: ignore[no-untyped-def]
            field.read_block(block, to if field.inner else to[..., 0])

        out.append(SharedBlock(block.level, lo if block.is_box else None, extent, read))
    return out


def meshes_by_block(fields: Iterable[Field]) -> set[str]:
    """The meshes whose fields are shared in the blocks of files, whatever these cover."""
    return {
        field.mesh
        for field in fields
        if field.is_in_blocks
        or field.is_at_points
        or field.point_axes
        or field.mesh_kind in ("curvilinear", "unstructured", "spectral")
    }


def _given(arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays of a block. An array of ids that are all -1 stands for none."""
    values = {name: array.read() for name, array in arrays.items()}
    return {
        name: of
        for name, of in values.items()
        if name not in ("ids", "parents", "patches") or of.size == 0 or (of >= 0).any()
    }


class CellSharing:
    """Shares points and cells of unstructured meshes, and keeps what it has shared last: what
    has not changed is not read again.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shared: dict[str, list[tuple[Arrays, Arrays]]] = {}  # by mesh

    def share(self, mesh: str, blocks: Sequence[RawBlock]) -> int:
        """Returns the bytes that it took from files. Raises Error."""
        now = [(block.points, block.cells) for block in blocks]
        if self._shared.get(mesh) == now:
            return 0
        self._shared.pop(mesh, None)
        bytes_read = 0
        with self._session.blocks(mesh):
            for number, (points, cells) in enumerate(now):
                of_points = _given(points)
                of_cells: dict[str, Any] = _given(cells)
                self._session.share_points(
                    mesh, of_points["coordinates"], ids=of_points.get("ids"), block=number
                )
                self._session.share_cells(mesh, **of_cells, block=number)
                arrays = [*points.values(), *cells.values()]
                bytes_read += sum(array.nbytes for array in arrays)
        self._shared[mesh] = now
        return bytes_read

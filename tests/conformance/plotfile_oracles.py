# SPDX-License-Identifier: BSD-3-Clause
"""Readers of plotfiles that are not Pillion's: VTK's, a small one after AMReX's sources, and yt's.
Each gives, by level, boxes with their values indexed [z, y, x].
"""

import re
from pathlib import Path

import numpy as np


def numbers(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"-?\d+", text)]


def boxes_of(text: str, axes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of ((0,0,0) (7,7,7) (0,0,0)) and so on; half-open."""
    found = np.array(numbers(text)).reshape(-1, 3, axes)
    return [(lo, hi + 1) for lo, hi, _ in found]


def read_level(folder: Path, level: int, axes: int) -> list[dict]:
    """The boxes of a level, with extremes as the head has them."""
    lines = (folder / f"Level_{level}" / "Cell_H").read_text().splitlines()
    version, _, components, ghosts = (int(line) for line in lines[:4])
    assert (version, ghosts) == (1, 0)
    count = numbers(lines[4])[0]
    boxes = boxes_of("".join(lines[5 : 5 + count]), axes)
    files = [line.split() for line in lines[7 + count : 7 + 2 * count]]
    rest = "\n".join(lines[7 + 2 * count :]).split(f"{count},{components}\n")
    least, largest = (np.array([float(v) for v in re.findall(r"[^,\s]+", t)]) for t in rest[1:3])
    out = []
    for n, ((lo, hi), (_, name, offset)) in enumerate(zip(boxes, files, strict=True)):
        data = (folder / f"Level_{level}" / name).read_bytes()[int(offset) :]
        head, _, data = data.partition(b"\n")
        bits = re.match(rb"FAB \(\(8, \((\d+) .*?\)\),\((\d), \((.*?)\)\)\)(.*)", head)
        order = ">" if bits[3].startswith(b"1 2") else "<"
        kind = np.dtype(f"{order}f{int(bits[1]) // 8}")
        *box, of_box = numbers(bits[4].decode())
        assert box[: 2 * axes] == [*lo, *(hi - 1)] and of_box == components
        shape = (components, *(hi - lo)[::-1])
        values = np.frombuffer(data, kind, int(np.prod(shape))).reshape(shape)
        extremes = [t.reshape(count, components)[n] for t in (least, largest)]
        out.append({"lo": lo, "hi": hi, "values": values, "extremes": extremes})
    return out


def vtk_levels(folder: Path, field: str) -> list[list[tuple[tuple, np.ndarray]]]:
    """By level: the lower corner of each box in space, and its values."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOAMR import vtkAMReXGridReader

    reader = vtkAMReXGridReader()
    reader.SetFileName(str(folder))
    reader.SetMaxLevel(99)
    reader.UpdateInformation()
    reader.SetCellArrayStatus(field, 1)
    reader.Update()
    amr = reader.GetOutput()
    out = []
    for level in range(amr.GetNumberOfLevels()):
        blocks = [amr.GetDataSetAsImageData(level, b) for b in range(amr.GetNumberOfBlocks(level))]
        out.append(
            [
                (
                    block.GetOrigin(),
                    vtk_to_numpy(block.GetCellData().GetArray(field)).reshape(
                        [max(1, n - 1) for n in block.GetDimensions()][::-1]
                    ),
                )
                for block in blocks
            ]
        )
    return out

# SPDX-License-Identifier: BSD-3-Clause
"""What code_saturne and Pillion wrote of one step, read by VTK: EnSight files of the one and
VTKHDF files of the other.
"""

from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
from vtkmodules.vtkIOEnSight import vtkEnSightGoldBinaryReader
from vtkmodules.vtkIOHDF import vtkHDFReader


def arrays_of(data) -> dict[str, np.ndarray]:
    names = [data.GetArrayName(n) for n in range(data.GetNumberOfArrays())]
    return {name: vtk_to_numpy(data.GetArray(name)).copy() for name in names}


def volumes_of(part) -> np.ndarray:
    measure = vtkCellSizeFilter()
    measure.SetInputData(part)
    measure.Update()
    return vtk_to_numpy(measure.GetOutput().GetCellData().GetArray("Volume")).copy()


def points_of(part, cell: int) -> np.ndarray:
    ids = part.GetCell(cell).GetPointIds()
    numbers = [ids.GetId(i) for i in range(ids.GetNumberOfIds())]
    return vtk_to_numpy(part.GetPoints().GetData())[numbers]


def area_of(places: np.ndarray) -> float:
    """Of a polygon that need not be convex; for such ones VTK's filter gives too much."""
    return float(np.linalg.norm(np.cross(places, np.roll(places, -1, axis=0)).sum(axis=0)) / 2)


class Grid:
    """The cells of the parts of a file, one part behind the other, and their values by name."""

    def __init__(self, parts: list) -> None:
        self.parts = parts
        self.first = np.cumsum([0] + [part.GetNumberOfCells() for part in parts])
        self.points = [vtk_to_numpy(part.GetPoints().GetData()) for part in parts]
        each = [arrays_of(part.GetCellData()) for part in parts]
        self.cells = {name: np.concatenate([of[name] for of in each]) for name in each[0]}
        self.types = np.array(
            [part.GetCellType(c) for part in parts for c in range(part.GetNumberOfCells())]
        )

    @property
    def order(self) -> np.ndarray:
        """The cells in the order of their ids, without copies."""
        ids = self.cells["GlobalCellIds"]
        order = np.argsort(ids, kind="stable")
        return order[self.cells.get("vtkGhostType", np.zeros(len(ids)))[order] == 0]

    def by_id(self, name: str) -> np.ndarray:
        return self.cells[name][self.order]

    def corners(self, cell: int) -> np.ndarray:
        """The coordinates of a cell's points, in an order that follows from these alone."""
        part = int(np.searchsorted(self.first, cell, side="right")) - 1
        places = points_of(self.parts[part], int(cell - self.first[part])).astype(np.float32)
        return places[np.lexsort(places.T)]

    def at_points(self, name: str) -> list[np.ndarray]:
        """The values of each part."""
        return [vtk_to_numpy(part.GetPointData().GetArray(name)) for part in self.parts]

    def volumes(self) -> np.ndarray:
        """As VTK computes them."""
        return np.concatenate([volumes_of(part) for part in self.parts])

    def areas(self) -> np.ndarray:
        cells = [(part, c) for part in self.parts for c in range(part.GetNumberOfCells())]
        return np.array([area_of(points_of(part, c)) for part, c in cells])


def ensight(run: Path, mesh: str, time: float) -> Grid:
    """A mesh of code_saturne, "FLUID_DOMAIN" or "BOUNDARY"."""
    reader = vtkEnSightGoldBinaryReader()
    reader.SetCaseFileName(str(run / f"postprocessing/RESULTS_{mesh}.case"))
    reader.UpdateInformation()
    reader.SetTimeValue(time)
    reader.Update()
    return Grid([reader.GetOutput().GetBlock(0)])


def vtkhdf(run: Path, mesh: str, step: int) -> Grid:
    """A mesh of Pillion; its parts are what ranks of code_saturne had."""
    (path,) = (run / "results").glob(f"*/{mesh}_vtkhdf/{mesh}.{step:09}.vtkhdf")
    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.Update()
    found = reader.GetOutputDataObject(0)
    if not found.IsA("vtkPartitionedDataSet"):
        return Grid([found])
    return Grid([found.GetPartition(n) for n in range(found.GetNumberOfPartitions())])

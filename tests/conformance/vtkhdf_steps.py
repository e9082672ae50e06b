# SPDX-License-Identifier: BSD-3-Clause
"""Whether a file of VTKHDF with all steps shows what files of single steps show, read by VTK."""

import json

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader


def leaves_of(data) -> list:
    """Those that have points. A step of one part has an empty one beside it in a file with more."""
    if not data.IsA("vtkCompositeDataSet"):
        return [data] if data.GetNumberOfPoints() > 0 else []
    iterator, out = data.NewIterator(), []
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        out += leaves_of(iterator.GetCurrentDataObject())
        iterator.GoToNextItem()
    return out


def arrays_of(leaf) -> dict[str, np.ndarray]:
    out = {}
    for which in ("CellData", "PointData"):
        data = getattr(leaf, f"Get{which}")()
        for n in range(data.GetNumberOfArrays()):
            out[f"{which}/{data.GetArrayName(n)}"] = vtk_to_numpy(data.GetArray(n))
    if leaf.IsA("vtkUnstructuredGrid"):
        cells = leaf.GetCells()
        out["points"] = vtk_to_numpy(leaf.GetPoints().GetData())
        out["connectivity"] = vtk_to_numpy(cells.GetConnectivityArray())
        out["offsets"] = vtk_to_numpy(cells.GetOffsetsArray())
        out["types"] = [leaf.GetCellType(c) for c in range(leaf.GetNumberOfCells())]
        out["faces"] = [leaf.GetCell(c).GetNumberOfFaces() for c in range(leaf.GetNumberOfCells())]
    elif leaf.IsA("vtkRectilinearGrid"):
        for axis in "XYZ":
            out[axis] = vtk_to_numpy(getattr(leaf, f"Get{axis}Coordinates")())
    else:
        out["bounds"] = leaf.GetBounds()
    texts = leaf.GetFieldData()
    for n in range(texts.GetNumberOfArrays()):
        words = texts.GetAbstractArray(n)
        if words.IsA("vtkStringArray"):
            out[words.GetName()] = [words.GetValue(w) for w in range(words.GetNumberOfValues())]
    return out


def check_run(folder, name: str, steps: int) -> None:
    files = json.loads((folder / f"{name}.vtkhdf.series").read_text())["files"]
    assert len(files) == steps
    run = vtkHDFReader()
    run.SetFileName(str(folder / f"{name}.vtkhdf"))
    run.UpdateInformation()
    assert run.GetNumberOfSteps() == steps
    seen = 0
    for number, of in enumerate(files):
        one = vtkHDFReader()
        one.SetFileName(str(folder / of["name"]))
        one.Update()
        run.SetStep(number)
        run.Update()
        assert run.GetTimeValue() == of["time"]
        shown = leaves_of(run.GetOutputDataObject(0))
        wanted = leaves_of(one.GetOutputDataObject(0))
        assert len(shown) == len(wanted)
        seen += len(shown)
        for leaf, like in zip(shown, wanted, strict=True):
            assert leaf.GetClassName() == like.GetClassName()
            arrays, known = arrays_of(leaf), arrays_of(like)
            assert set(arrays) == set(known)
            for key, values in known.items():
                np.testing.assert_array_equal(arrays[key], values, f"{key} of step {number}")
    assert seen > 0

# SPDX-License-Identifier: BSD-3-Clause
"""A Catalyst script for test_catalyst_parallel.py: a contour and a slice, the volume, and what each
rank of ParaView has of the data and of the contour, in numbers."""

import numpy as np
from paraview import catalyst
from paraview.modules.vtkRemotingCore import vtkProcessModule
from paraview.simple import (
    CellDatatoPointData,
    ColorBy,
    Contour,
    CreateView,
    GetColorTransferFunction,
    GetOpacityTransferFunction,
    IntegrateVariables,
    SaveScreenshot,
    Show,
    Slice,
    TrivialProducer,
    UpdatePipeline,
)
from paraview.vtk.util.numpy_support import vtk_to_numpy

RANK = vtkProcessModule.GetProcessModule().GetPartitionId()

data = TrivialProducer(registrationName="input")
at_points = CellDatatoPointData(Input=data)
contour = Contour(Input=at_points, ContourBy=["POINTS", "density"], Isosurfaces=[0.3])
cut = Slice(Input=data)
cut.SliceType.Origin, cut.SliceType.Normal = [2.2, 2, 12], [0.2, 0.3, 1]
area = IntegrateVariables(Input=contour)
total = IntegrateVariables(Input=data)


def view_of(*shown):
    view = CreateView("RenderView")
    view.ViewSize = [160, 120]
    view.CameraPosition, view.CameraFocalPoint = [30, 24, 40], [2.2, 2, 12]
    for source, kind in shown:
        display = Show(source, view)
        display.SetRepresentationType(kind)
        ColorBy(display, ("POINTS" if source is contour else "CELLS", "density"))
    return view


surfaces = view_of((contour, "Surface"), (cut, "Surface"))
volume = view_of((data, "Volume"))
# After ColorBy, which sets ranges of the data that each rank has.
GetColorTransferFunction("density").RescaleTransferFunction(-2, 2)
GetOpacityTransferFunction("density").RescaleTransferFunction(-2, 2)
options = catalyst.Options()


def own(proxy):
    """The dataset of this rank, and which of its cells it owns."""
    held = proxy.GetClientSideObject().GetOutputDataObject(0)
    flags = held.GetCellData().GetArray("vtkGhostType")
    count = held.GetNumberOfCells()
    return held, vtk_to_numpy(flags) == 0 if flags else np.ones(count, bool)


def integral(proxy, name):
    """On the rank that has it, which ParaView chooses."""
    held = proxy.GetClientSideObject().GetOutputDataObject(0)
    array = held.GetCellData().GetArray(name) if held else None
    return vtk_to_numpy(array) if array and array.GetNumberOfTuples() else np.zeros(0)


def catalyst_execute(info):
    for proxy in (contour, cut, area, total):
        UpdatePipeline(time=info.time, proxy=proxy)
    held, owned = own(data)
    np.savez(
        f"piece.{info.timestep}.{RANK}.npz",
        time=info.time,
        extent=held.GetExtent(),
        bounds=held.GetBounds(),
        owned=owned,
        triangles=own(contour)[1].sum(),
        area=integral(area, "Area"),
        total=integral(total, "density"),
        **{
            name: vtk_to_numpy(held.GetCellData().GetArray(name))
            for name in ("density", "velocity")
        },
    )
    SaveScreenshot(f"surfaces.{info.timestep}.png", surfaces)
    SaveScreenshot(f"volume.{info.timestep}.png", volume)

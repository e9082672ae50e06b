# SPDX-License-Identifier: BSD-3-Clause
"""A Catalyst script for test_catalyst_parallel.py: a picture, and all that each rank of ParaView
has of the data. It may be in use under several names in one process."""

from pathlib import Path

import numpy as np
from paraview import catalyst
from paraview.modules.vtkRemotingCore import vtkProcessModule
from paraview.simple import (
    ColorBy,
    CreateView,
    GetColorTransferFunction,
    SaveScreenshot,
    Show,
    TrivialProducer,
    UpdatePipeline,
)
from paraview.vtk.util.numpy_support import vtk_to_numpy

RANK = vtkProcessModule.GetProcessModule().GetPartitionId()
NAME = Path(__file__).stem

data = TrivialProducer(registrationName="input")
view = CreateView("RenderView")
view.ViewSize = [120, 90]
view.CameraPosition, view.CameraFocalPoint = [3, 2.5, 4], [0.5, 0.5, 0.5]
display = Show(data, view)
display.SetRepresentationType("Surface")
display.PointSize = 6
ColorBy(display, ("POINTS", "charge"))
GetColorTransferFunction("charge").RescaleTransferFunction(-2, 2)
options = catalyst.Options()


def numbers(kind, attributes):
    names = [attributes.GetArrayName(i) for i in range(attributes.GetNumberOfArrays())]
    return {f"{kind}.{n}": vtk_to_numpy(attributes.GetArray(n)) for n in names}


def catalyst_execute(info):
    UpdatePipeline(time=info.time, proxy=data)
    held = data.GetClientSideObject().GetOutputDataObject(0)
    points = held.GetPoints()
    np.savez(
        f"{NAME}.{info.timestep}.{RANK}.npz",
        places=vtk_to_numpy(points.GetData()) if points else np.zeros((0, 3)),
        cells=held.GetNumberOfCells(),
        **numbers("point", held.GetPointData()),
        **numbers("cell", held.GetCellData()),
    )
    SaveScreenshot(f"{NAME}.{info.timestep}.png", view)

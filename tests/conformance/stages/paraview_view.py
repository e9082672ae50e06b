# SPDX-License-Identifier: BSD-3-Clause
"""A Catalyst script as ParaView saves them, for test_catalyst.py: a picture of each step, and what
the data are, in numbers."""

import numpy as np
from paraview import catalyst
from paraview.simple import (
    CreateView,
    SaveScreenshot,
    Show,
    TrivialProducer,
    UpdatePipeline,
    servermanager,
)
from paraview.vtk.util.numpy_support import vtk_to_numpy

data = TrivialProducer(registrationName="input")
view = CreateView("RenderView")
view.ViewSize = [120, 90]
shown = Show(data, view)
options = catalyst.Options()


def numbers(attributes):
    names = [attributes.GetArrayName(i) for i in range(attributes.GetNumberOfArrays())]
    return {n: vtk_to_numpy(attributes.GetArray(n)) for n in names if not n.startswith("vtk")}


def catalyst_execute(info):
    UpdatePipeline(time=info.time, proxy=data)
    held = servermanager.Fetch(data)
    np.savez(
        f"seen.{info.timestep}.npz",
        time=info.time,
        bounds=held.GetBounds(),
        cells=held.GetNumberOfCells(),
        **numbers(held.GetCellData()),
        **numbers(held.GetPointData()),
    )
    view.ResetCamera()
    SaveScreenshot(f"view.{info.timestep}.png", view)

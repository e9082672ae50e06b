# SPDX-License-Identifier: BSD-3-Clause
"""A Catalyst script for test_catalyst_stage_meshes.py, in which FIELD is the name of a field: a
picture of the mesh and of a contour, and what each rank of ParaView has of both, in numbers."""

import numpy as np
from paraview import catalyst
from paraview.modules.vtkRemotingCore import vtkProcessModule
from paraview.simple import (
    CellDatatoPointData,
    ColorBy,
    Contour,
    CreateView,
    GetColorTransferFunction,
    IntegrateVariables,
    SaveScreenshot,
    Show,
    TrivialProducer,
    UpdatePipeline,
)
from paraview.vtk.util.numpy_support import vtk_to_numpy

RANK = vtkProcessModule.GetProcessModule().GetPartitionId()

data = TrivialProducer(registrationName="input")
at_points = CellDatatoPointData(Input=data)
contour = Contour(Input=at_points, ContourBy=["POINTS", "FIELD"], Isosurfaces=[0.1])
size = IntegrateVariables(Input=contour)
total = IntegrateVariables(Input=data)


def view_of(source, kind):
    view = CreateView("RenderView")
    view.ViewSize = [160, 120]
    display = Show(source, view)
    display.SetRepresentationType(kind)
    display.Interpolation = "Flat"  # normals at points know nothing of another rank's cells
    ColorBy(display, ("POINTS" if source is contour else "CELLS", "FIELD"))
    return view


views = {"mesh": view_of(data, "Surface"), "contour": view_of(contour, "Surface")}
GetColorTransferFunction("FIELD").RescaleTransferFunction(-1, 1)
options = catalyst.Options()


def held_by(proxy):
    return proxy.GetClientSideObject().GetOutputDataObject(0)


def integral(proxy, name):
    """On the rank that has it, which ParaView chooses."""
    array = held_by(proxy).GetCellData().GetArray(name)
    return vtk_to_numpy(array) if array and array.GetNumberOfTuples() else np.zeros(0)


def catalyst_execute(info):
    for proxy in (contour, size, total):
        UpdatePipeline(time=info.time, proxy=proxy)
    held = held_by(data)
    flags = held.GetCellData().GetArray("vtkGhostType")
    values = vtk_to_numpy(held.GetCellData().GetArray("FIELD"))
    owned = vtk_to_numpy(flags) == 0 if flags else np.ones(len(values), bool)
    named = {}
    for name in ("Volume", "Area", "FIELD"):
        named[f"total.{name}"] = integral(total, name)
    for name in ("Area", "Length"):
        named[f"contour.{name}"] = integral(size, name)
    np.savez(f"mesh.{info.timestep}.{RANK}.npz", values=values, owned=owned, **named)
    for name, view in views.items():
        view.ResetCamera()
        view.CameraPosition = np.add(view.CameraFocalPoint, [20, 17, 30]).tolist()
        SaveScreenshot(f"{name}.{info.timestep}.png", view)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seconds for a picture of 192 x 192 x 192 cells on one rank and on two, by kind; beside VTK, which
makes a slice and a surface of the same field on one rank, if it is installed.

    PILLION_BUILD=build/release python bench/image.py

Prints a JSON line per measurement, and last `bench image: …`. Times are medians.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("PILLION_BUILD", ROOT / "build/release")).resolve()
N, SIZE, STEPS = 192, (1024, 768), 5
KINDS = {
    "slice": "slice: {field: density, axis: x}",
    "surface": "isosurface: {field: density, values: 0.5}",
    "volume": "volume: {field: density}",
}

SIMULATION = f"""
import json, sys, time
import numpy as np
from mpi4py import MPI
import pillion

with pillion.open(sys.argv[1]) as s:
    comm = s.communicator
    lo, hi = ({N} * (comm.rank + i) // comm.size for i in (0, 1))
    x, y, z = np.meshgrid(np.arange({N}), np.arange({N}), np.arange(lo, hi), indexing="ij")
    density = np.asfortranarray(np.sin(x / 14) * np.sin(y / 11) * np.sin(z / 9))
    s.share("density", density, lo=(0, 0, lo))
    seconds = []
    for i in range({STEPS + 1}):
        comm.Barrier()
        before = time.perf_counter()
        s.step(i, 0.0)
        seconds.append(comm.allreduce(time.perf_counter() - before, MPI.MAX))
    if comm.rank == 0:
        print(json.dumps(float(np.median(seconds[1:]))))
"""

CONFIGURATION = """
output: results
meshes: {{grid: {{kind: uniform, cells: [{n}, {n}, {n}]}}}}
fields: {{density: {{mesh: grid, type: float64}}}}
analyses: {{look: {{every: 1 steps, stages: [image: {{draw: [{what}]}}]}}}}
"""


def seconds(folder: Path, kind: str, ranks: int) -> float:
    (folder / "pillion.yaml").write_text(CONFIGURATION.format(n=N, what=KINDS[kind]))
    (folder / "simulation.py").write_text(SIMULATION)
    program = os.environ.get("MPIEXEC", "mpirun")
    options = ["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]
    done = subprocess.run(
        [program, *options, "-n", str(ranks), sys.executable, "simulation.py", "pillion.yaml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python")},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def seconds_of_vtk() -> dict[str, float]:
    try:
        import vtk
        from vtk.util.numpy_support import numpy_to_vtk
    except ImportError:
        return {}
    x, y, z = np.meshgrid(*[np.arange(N)] * 3, indexing="ij", sparse=True)
    density = (np.sin(x / 14) * np.sin(y / 11) * np.sin(z / 9)).ravel(order="F")
    out = {}
    for kind in ("slice", "surface"):
        times = []
        for _ in range(STEPS + 1):
            before = time.perf_counter()
            grid = vtk.vtkImageData()
            grid.SetDimensions(N, N, N)
            grid.GetPointData().SetScalars(numpy_to_vtk(density))
            if kind == "slice":
                made = vtk.vtkFlyingEdgesPlaneCutter()
                plane = vtk.vtkPlane()
                plane.SetOrigin(N / 2, 0, 0)
                plane.SetNormal(1, 0, 0)
                made.SetPlane(plane)
            else:
                made = vtk.vtkFlyingEdges3D()
                made.SetValue(0, 0.5)
            made.SetInputData(grid)
            mapper = vtk.vtkPolyDataMapper()
            mapper.SetInputConnection(made.GetOutputPort())
            actor = vtk.vtkActor()
            actor.SetMapper(mapper)
            renderer = vtk.vtkRenderer()
            renderer.AddActor(actor)
            window = vtk.vtkRenderWindow()
            window.SetOffScreenRendering(1)
            window.SetSize(*SIZE)
            window.AddRenderer(renderer)
            grab = vtk.vtkWindowToImageFilter()
            grab.SetInput(window)
            writer = vtk.vtkPNGWriter()
            writer.SetInputConnection(grab.GetOutputPort())
            writer.WriteToMemoryOn()
            window.Render()
            writer.Write()
            times.append(time.perf_counter() - before)
        out[kind] = float(np.median(times[1:]))
    return out


def main() -> None:
    words = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for ranks in (1, 2):
                taken = seconds(Path(folder), kind, ranks)
                print(json.dumps({"picture": kind, "ranks": ranks, "seconds": round(taken, 4)}))
                words.append(f"{kind}_{ranks}={taken:.3f}")
    for kind, taken in seconds_of_vtk().items():
        print(json.dumps({"picture": kind, "by": "vtk", "seconds": round(taken, 4)}))
        words.append(f"{kind}_vtk={taken:.3f}")
    print("bench image:", *words)


if __name__ == "__main__":
    main()

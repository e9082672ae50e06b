# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the program catalyst_meshes under Catalyst with Pillion."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import limits
from cached_codes import built
from conftest import mpirun
from scenes import SidecarJob, new_run

HERE = Path(__file__).parent
STEPS = 3


def build_catalyst() -> Path:
    return built("catalyst", HERE / "build_catalyst.sh")


def build_program(name: str, folder: Path) -> Path:
    """A program of this folder that is linked with Catalyst."""
    install, program = build_catalyst() / "install", folder / name
    flags = [f"-I{install}/include/catalyst-2.0", f"-L{install}/lib", "-lcatalyst"]
    command = ["mpicxx", "-std=c++17", "-O2", HERE / f"{name}.cpp", *flags]
    limits.run([*command, f"-Wl,-rpath,{install}/lib", "-o", program], check=True, timeout=300)
    return program


def environment(build: Path, **more) -> dict:
    return {
        "CATALYST_IMPLEMENTATION_NAME": "pillion",
        "CATALYST_IMPLEMENTATION_PATHS": build / "lib/catalyst",
        "PYTHONPATH": build / "python",
        "PILLION_PYTHON": sys.executable,
        **more,
    }


def configure(folder: Path, stages: str, head: str = "") -> str:
    """The name of the run."""
    run = new_run()
    text = f"output: results\nrun: {run}\n{head}analyses:\n  a:\n    products_every: 1\n"
    (folder / "run.yaml").write_text(f"{text}    stages:\n{stages}")
    return run


def stage(call: str, more: str = "") -> str:
    return f"      - python: {{call: '{HERE / 'catalyst_places.py'}:{call}'{more}}}\n"


def run_meshes(build, meshes, folder, kind, ranks=2, domains=1, *more, env=None):
    arguments = (kind, STEPS, domains, "run.yaml", *more)
    return mpirun(
        ranks,
        meshes,
        *arguments,
        env=environment(build, **(env or {})),
        cwd=folder,
    )


def run_placed(build, meshes, folder, stages, kind, placement):
    ranks, domains, job = placement
    if kind[0].isupper():
        ranks += 1
    head = "sidecars: {job: separate, when_full: wait}\n" if job else ""
    run = configure(folder, stages, head)
    if not job:
        return run_meshes(build, meshes, folder, kind, ranks, domains)
    go = folder / "go"
    sidecars = SidecarJob(build, folder, run, 1)
    try:
        with ThreadPoolExecutor() as pool:
            simulation = pool.submit(
                run_meshes, build, meshes, folder, kind, ranks, domains, env={"AWAITED": go}
            )
            try:
                sidecars.await_joined()
            finally:
                go.touch()
            done = simulation.result()
        sidecars.await_end()
    finally:
        sidecars.stop()
    return done


def expect_exact(table, column, count):
    assert table[column].tolist() == [count] * STEPS
    assert table["worst"].max() <= 1e-12

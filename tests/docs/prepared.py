# SPDX-License-Identifier: BSD-3-Clause
"""What lies in a page's folder before its first command is typed: programs, files, results.
Each function makes one scene, which a page names as `<!-- scene NAME -->`.
"""

import os
import shutil

import limits
import numpy as np
import pytest
import yaml
from code_blocks import ROOT, Block, source_of
from typist import Typist

CELLS = 32


def _build(typist: Typist):
    return typist.environment["PILLION_BIN"].removesuffix("/bin")


def _type(typist: Typist, *words: str) -> None:
    done = limits.run(words, cwd=typist.folder, env=typist.environment, timeout=120,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


def heat(typist: Typist) -> None:
    """The heat example and its configuration."""
    (typist.folder / "heat").symlink_to(f"{_build(typist)}/examples/heat/heat")
    shutil.copy(ROOT / "examples/heat/pillion.yaml", typist.folder)


def amr(typist: Typist) -> None:
    """The example with levels of refinement and its configuration."""
    (typist.folder / "amr").symlink_to(f"{_build(typist)}/examples/amr/amr")
    shutil.copy(ROOT / "examples/amr/pillion.yaml", typist.folder)


def spectral(typist: Typist) -> None:
    """The example on spectral elements and its configuration."""
    (typist.folder / "spectral").symlink_to(f"{_build(typist)}/examples/spectral/spectral")
    shutil.copy(ROOT / "examples/spectral/pillion.yaml", typist.folder)


def heat_in_fortran(typist: Typist) -> None:
    program = f"{_build(typist)}/examples/heat/heat_fortran"
    if not os.path.exists(program):
        pytest.skip("this build has no Fortran modules")
    (typist.folder / "heat_fortran").symlink_to(program)
    shutil.copy(ROOT / "examples/heat/pillion.yaml", typist.folder)


def heat_has_run(typist: Typist) -> None:
    heat(typist)
    _type(typist, "mpirun", "-n", "2", "./heat", "32", "100")


def apart(typist: Typist) -> None:
    """A simulation whose sidecars are a job of their own, and analyses for an attached job. Few
    steps that take long: on a busy machine ranks wait for each other at every step.
    """
    (typist.folder / "simulation").write_text(
        f'#!/bin/sh\nexec {_build(typist)}/examples/heat/heat 64 "${{1:-3000}}"\n'
    )
    (typist.folder / "simulation").chmod(0o755)
    text = (ROOT / "examples/heat/pillion.yaml").read_text("utf-8")
    ours = "sidecars: {job: separate, memory: 64 MiB, when_full: skip, deadline: 5 s}"
    text = text.replace("sidecars: {ranks: 1, memory: 64 MiB, when_full: wait}", ours)
    text = text.replace("n: 32", "n: 64")
    (typist.folder / "pillion.yaml").write_text(text.replace("output:", "run: big_box\noutput:"))


def snapshots(typist: Typist) -> None:
    """Density as arrays, and configurations that read it."""
    folder = typist.folder / "snapshots"
    folder.mkdir()
    values = np.random.default_rng(7).random((CELLS, CELLS, CELLS))
    for step in (0, 20, 40):
        np.save(folder / f"gas.{step:06}.npy", values + step)
    head = {
        "meshes": {"grid": {"kind": "uniform", "cells": [CELLS] * 3, "units": "Mpc"}},
        "fields": {"gas": {"mesh": "grid", "type": "float64", "units": "g/cm^3"}},
    }
    stages = {
        "pillion": [{"statistics": {"fields": ["gas"]}}],
        "other": [{"histogram": {"field": "gas", "range": "auto"}}],
        "keep": [{"write_idx": {"fields": ["gas"], "durable": False}}],
    }
    for name, chain in stages.items():
        steps = {"every": "20 steps", "stages": chain}
        analysis = "checkpoint" if name == "keep" else name
        text = yaml.safe_dump(head | {"analyses": {analysis: steps}})
        (typist.folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    _type(typist, "pillion", "replay", "--output", "out", "snapshots", "keep.yaml")


def dataset(typist: Typist) -> None:
    """What the stage `write_idx` has left of a run: results/snapshots/gas.idx."""
    folder = typist.folder / "stored"
    folder.mkdir()
    axis = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    wave = 2 + np.sin(axis)[:, None, None] * np.sin(2 * axis)[:, None] * np.cos(axis)
    for step in (0, 10):
        np.save(folder / f"density.{step:06}.npy", (wave + step).astype(np.float32))
    configuration = {
        "meshes": {"grid": {"kind": "uniform", "cells": [64] * 3, "length": [10] * 3}},
        "fields": {"density": {"mesh": "grid", "type": "float32", "units": "g/cm^3"}},
        "analyses": {
            "snapshots": {
                "every": "10 steps",
                "stages": [{"write_idx": {"fields": ["density"], "name": "gas", "durable": False}}],
            },
            "a": {
                "every": "10 steps",
                "stages": [
                    {"write_hdf5": {"fields": ["density"], "durable": False}},
                    {"write_raw": {"fields": ["density"], "durable": False}},
                    {"write_plotfile": {"fields": ["density"], "durable": False}},
                    {"write_vtkhdf": {"fields": ["density"], "durable": False}},
                    {"write_openpmd": {"fields": ["density"], "durable": False}},
                ],
            },
        },
    }
    (typist.folder / "keep.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    _type(typist, "pillion", "replay", "--time-per-step", "0.5", "stored", "keep.yaml")


def molecules(typist: Typist) -> None:
    """A small LAMMPS input with the types that the page's configuration names."""
    shutil.copy(ROOT / "docs/examples/in.water", typist.folder)


def nacl(typist: Typist) -> None:
    """The example of salt water."""
    for path in (ROOT / "examples/nacl").iterdir():
        shutil.copy(path, typist.folder)


def completed(block: Block) -> str | None:
    """A configuration that can be checked, made of a block and of what completes it; None if the
    block is some other file.
    """
    known = yaml.safe_load(block.text)
    if "completed" not in block.said:
        is_one = isinstance(known, dict) and "analyses" in known
        assert is_one or "file" in block.said, f"{block.place}: what completes it?"
        return block.text if is_one else None
    rest = yaml.safe_load(source_of(block.said["completed"].removeprefix("by ")))
    if isinstance(known, list):
        known = {"analyses": {"typed": {"every": "10 steps", "stages": known}}}
    return yaml.safe_dump(rest | known, sort_keys=False, allow_unicode=True)

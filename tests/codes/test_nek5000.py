# SPDX-License-Identifier: BSD-3-Clause
"""Nek5000's own cases, unchanged, built with pillion-makenek. What arrives is what Nek writes into
its field files, which pymech reads; and those files are those of a program without Pillion.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import some
from pymech.neksuite import readnek

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from cached_codes import needs_codes
from nek_cases import CASES, Built, field_files, run_case

pytestmark = needs_codes

MODES = {
    "simulation": ("", 2),
    "sidecars": ("sidecars: {per_node: 1, when_full: wait}", 3),
}
FLUID = ["number", "coordinates", "velocity", "pressure", "vorticity"]
THERMAL = ["thermal_number", "thermal_coordinates", "temperature"]


@pytest.fixture(scope="module")
def built(build, tmp_path_factory) -> Built:
    return Built(build, tmp_path_factory.mktemp("cases"))


def configuration(mode: str, key: str) -> str:
    fluid = [name for name in FLUID if key != "axi" or name != "vorticity"]
    lists = [[*fluid, "scalar_1"], THERMAL] if key == "conj_ht" else [fluid]
    stages = "".join(
        f"      - write_raw: {{fields: [{', '.join(names)}], name: {name}, durable: false}}\n"
        for names, name in zip(lists, ("fluid", "thermal"), strict=False)
    )
    return (
        f"output: results\n{MODES[mode][0]}\nanalyses:\n  a:\n    every: {CASES[key].every} steps\n"
        f"    stages:\n{stages}"
    )


def raw_fields(head: Path, step: int) -> dict[str, np.ndarray]:
    """Fields by name, as [element, component, z, y, x] in the order of the elements' numbers."""
    dataset = yaml.safe_load(head.read_text())
    (index,) = (entry["index"] for entry in dataset["steps"] if entry["step"] == step)
    n, axes = dataset["mesh"]["order"] + 1, dataset["mesh"].get("dimensions", 3)
    found = {}
    for block in yaml.safe_load((head.parent / index).read_text())["blocks"]:
        for entry, offset in zip(dataset["fields"], block["offsets"], strict=True):
            points = (n,) * axes if entry["centering"] == "point" else ()
            shape = (block["count"], entry["components"], *points)
            values = np.fromfile(
                head.parent / block["file"], entry["type"], np.prod(shape), offset=offset
            )
            found.setdefault(entry["name"], []).append(values.reshape(shape))
    out = {name: np.concatenate(parts) for name, parts in found.items()}
    numbers = out.pop("number" if "number" in out else "thermal_number").ravel()
    np.testing.assert_array_equal(np.sort(numbers), 1 + np.arange(len(numbers)))
    return {name: values[np.argsort(numbers)] for name, values in out.items()}


def nek_fields(path: Path) -> tuple[int, dict[str, np.ndarray]]:
    """The same of a field file, and its step; elements are in the order of their numbers."""
    data = readnek(str(path))
    names = {"coordinates": "pos", "velocity": "vel", "pressure": "pres", "temperature": "temp"}
    out = {}
    for name, attribute in names.items():
        values = np.array([getattr(element, attribute) for element in data.elem])
        if values.size and data.ndim == 2:
            values = values[:, :, 0]
        if values.size:
            out[name] = values[:, : data.ndim]
    for n in range(data.var[4]):
        out[f"scalar_{n + 1}"] = np.array([element.scal[n : n + 1, 0] for element in data.elem])
    return data.istep, out


def derivatives(places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Of values [element, z, y, x] along each axis, in elements with such coordinates."""
    n, axes = places.shape[-1], places.shape[1]
    legendre = np.polynomial.legendre.Legendre.basis(n - 1)
    points = np.concatenate([[-1], np.sort(legendre.deriv().roots().real), [1]])
    vandermonde = np.polynomial.legendre.legvander(points, n - 1)
    slopes = [np.polynomial.legendre.Legendre.basis(k).deriv()(points) for k in range(n)]
    matrix = np.array(slopes).T @ np.linalg.inv(vandermonde)

    def along(what, axis):
        return np.moveaxis(np.tensordot(matrix, what, (1, what.ndim - 1 - axis)), 0, -1 - axis)

    jacobian = np.stack(
        [[along(places[:, d], r) for r in range(axes)] for d in range(axes)], axis=0
    )  # dx_d / dr_r
    inverse = np.linalg.inv(np.moveaxis(jacobian, (0, 1), (-2, -1)))
    of_reference = np.stack([along(values, r) for r in range(axes)], axis=-1)
    return np.moveaxis(np.einsum("...r,...rd->...d", of_reference, inverse), -1, 0)


def curl(places: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    slopes = [derivatives(places, velocity[:, c]) for c in range(velocity.shape[1])]
    if len(slopes) == 2:
        return (slopes[1][0] - slopes[0][1])[:, None]
    (_, uy, uz), (vx, _, vz), (wx, wy, _) = slopes
    return np.stack([wy - vz, uz - wx, vx - uy], axis=1)


def assert_as_nek_writes(run: Path, key: str) -> None:
    """Every value of every field file of the run, and the vorticity inside elements, where it is
    not averaged over neighbours."""
    coordinates, steps = None, []
    for path in some(run.glob(f"{CASES[key].name}0.f?????")):
        step, wanted = nek_fields(path)
        steps.append(step)
        coordinates = wanted.get("coordinates", coordinates)
        found = raw_fields(run / "results/a/fluid.raw.yaml", step)
        elements = len(found["velocity"])
        for name in ("velocity", "pressure"):
            np.testing.assert_array_equal(found[name], wanted[name][:elements])
        np.testing.assert_array_equal(found["coordinates"], coordinates[:elements])
        if "vorticity" in found:
            inside = (..., *[slice(1, -1)] * (coordinates.ndim - 2))
            expected = curl(found["coordinates"], found["velocity"])[inside]
            limit = 1e-9 * np.abs(expected).max()
            np.testing.assert_allclose(found["vorticity"][inside], expected, rtol=0, atol=limit)
        if "temperature" in wanted:
            np.testing.assert_array_equal(found["scalar_1"], wanted["scalar_1"][:elements])
            assert np.ptp(found["scalar_1"]) > 0.1
            thermal = raw_fields(run / "results/a/thermal.raw.yaml", step)
            assert len(thermal["temperature"]) > elements
            np.testing.assert_array_equal(thermal["temperature"], wanted["temperature"])
            np.testing.assert_array_equal(thermal["thermal_coordinates"], coordinates)
    assert steps[-1] == CASES[key].steps and len(steps) > 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", [key for key in CASES if key != "ethier_usr"])
def test_values_and_files_are_nek_own(built, tmp_path, key, mode):
    folder = built(key)
    run_case(folder, tmp_path / "run", key, configuration(mode, key), MODES[mode][1])
    assert field_files(tmp_path / "run") == built.plain_files(key)
    assert_as_nek_writes(tmp_path / "run", key)

# SPDX-License-Identifier: BSD-3-Clause
"""Particles put on a mesh, total matter, and what later stages of the chain make of them, against
sums over all particles and cells, wherever the stages run and however particles are divided."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import worlds
from conftest import read_table, some
from frames import Frame
from placements import cases, check_report, placements
from pool import results_of_case
from scenes import Placement, Scene

CELLS = (7, 10, 8)
WORLDS = {
    "periodic": dict(),
    "open": dict(periodic=(0, 1, 0)),
    "single": dict(dtype=np.float32, vanish=True),
}
CLOUDS = {"nearest": "ngp", "cloud": "cic", "triangle": "tsc"}
FRACTION = 0.16


@cache
def frames_of(name: str) -> list[Frame]:
    rng = np.random.default_rng(sorted(WORLDS).index(name))
    return worlds.walk(rng, frames=3, particles=300, **WORLDS[name])


def scene(name: str, folder: Path) -> Scene:
    frames = frames_of(name)
    domain = frames[0].domain
    periodic = ", ".join("true" if p else "false" for p in domain.periodic)
    grid = (
        f"  grid: {{kind: uniform, cells: {list(CELLS)}, origin: {list(map(float, domain.lo))}, "
        f"length: {list(map(float, domain.hi - domain.lo))}, units: Å, periodic: [{periodic}]}}\n"
    )
    text = worlds.catalogue(frames).replace("meshes:\n", "meshes:\n" + grid)
    spectrum = "      - power_spectrum: {field: total}\n" if name == "periodic" else ""
    stages = "".join(
        f"      - deposit: {{position: position, mesh: grid, into: {into}, cloud: {cloud}"
        f"{', mass: mass' if into == 'cloud' else ', particle_mass: 2.5'}}}\n"
        for into, cloud in CLOUDS.items()
    )
    analyses = (
        f"analyses:\n  matter:\n    every: 50 steps\n    stages:\n{stages}"
        f"      - matter: {{gas: triangle, dark_matter: cloud, baryon_fraction: {FRACTION}, "
        f"into: total}}\n{spectrum}"
        "      - histogram: {field: total, bins: 10, range: [0, 5]}\n"
        f"      - cells: {{folder: {folder / 'cells'}, fields: [{', '.join(CLOUDS)}, total], "
        "layout: pencils, axis: 1}\n"
    )
    return Scene(name, frames, text, analyses, "trajectory_driver")


PLACEMENTS = {
    "periodic": placements(
        ["slabs", "migrate", "sparse", "pieces"],
        [
            *((1, 0, "slabs"), (3, 0, "migrate"), (4, 0, "sparse"), (2, 3, "pieces")),
            *((3, 1, "migrate"), (3, 2, "sparse", "node"), (2, 2, "pieces", "separate", 2)),
        ],
    ),
    "open": [Placement(2, 0, "pieces"), Placement(2, 4, "migrate")],
    "single": [Placement(3, 0, "sparse"), Placement(2, 2, "migrate")],
}


@pytest.fixture(scope="module", params=cases(PLACEMENTS))
def played(request, build, tmp_path_factory):
    name, placement = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILLION_STAGE_PATH", str(build / "tests" / "conformance" / "stages"))
        folder, results = results_of_case(
            request, build, tmp_path_factory, lambda case, to: (scene(case[0], to), case[1])
        )
    check_report(scene(name, folder), placement, results)
    return name, folder, results


def kernel(cloud: str, distance: np.ndarray) -> np.ndarray:
    """The share of a cell whose centre is so many cells away."""
    d = np.abs(distance)
    if cloud == "ngp":
        return (d < 0.5).astype(float)
    if cloud == "cic":
        return np.maximum(0, 1 - d)
    inner = 0.75 - d**2
    return np.where(d < 0.5, inner, np.where(d < 1.5, 0.5 * (1.5 - d) ** 2, 0))


def deposited(frame: Frame, cloud: str, mass: np.ndarray) -> np.ndarray:
    domain = frame.domain
    length = domain.hi - domain.lo
    shares = []
    for d, n in enumerate(CELLS):
        x = (frame["position"][:, d].astype(float) - domain.lo[d]) / length[d] * n
        images = (-2, -1, 0, 1, 2) if domain.periodic[d] else (0,)
        centres = np.arange(n) + 0.5
        shares.append(
            sum(kernel(cloud, x[:, None] + image * n - centres[None]) for image in images)
        )
    return np.einsum("p,pi,pj,pk->ijk", mass, *shares) / np.prod(length / CELLS)


def expected(frame: Frame) -> dict[str, np.ndarray]:
    fields = {}
    for into, cloud in CLOUDS.items():
        mass = frame["mass"] if into == "cloud" else np.full(frame.count, 2.5)
        fields[into] = deposited(frame, cloud, mass)
    gas, dark = fields["triangle"], fields["cloud"]
    fields["total"] = FRACTION * gas / gas.mean() + (1 - FRACTION) * dark / dark.mean()
    return fields


def seen(folder: Path, step: int) -> dict[str, np.ndarray]:
    """The fields as the pencils of all peers make them."""
    names = [*CLOUDS, "total"]
    fields = {name: np.full(CELLS, np.nan) for name in names}
    for path in some((folder / "cells").glob(f"{step}-*")):
        data = path.read_bytes()
        _, count = np.frombuffer(data, np.int64, 2)
        at = 16
        for _ in range(count):
            corners = np.frombuffer(data, np.int64, 15, at)[3:].reshape(4, 3)
            at += 15 * 8
            lo, hi = corners[0], corners[1]
            for name in names:
                values = np.frombuffer(data, np.float64, np.prod(hi - lo), at)
                at += values.nbytes
                part = tuple(map(slice, lo, hi))
                assert np.isnan(fields[name][part]).all()
                fields[name][part] = values.reshape(hi - lo, order="F")
    return fields


def test_each_cell_has_the_sum_over_all_particles(played):
    name, folder, _ = played
    for frame in frames_of(name):
        fields = seen(folder, frame.step)
        for field, wanted in expected(frame).items():
            # Copies beyond a periodic end are displaced in the precision of the positions.
            near = 1e-5 if name == "single" else 1e-11
            np.testing.assert_allclose(
                fields[field], wanted, rtol=near, atol=near * wanted.max(), err_msg=field
            )


def test_mass_is_conserved(played):
    name, folder, _ = played
    if name == "open":
        pytest.skip("what reaches beyond an open end is lost")
    for frame in frames_of(name):
        fields = seen(folder, frame.step)
        volume = frame.domain.volume / np.prod(CELLS)
        near = 1e-6 if name == "single" else 1e-12
        assert fields["cloud"].sum() * volume == pytest.approx(frame["mass"].sum(), rel=near)
        assert fields["nearest"].sum() * volume == pytest.approx(2.5 * frame.count, rel=near)
        assert fields["total"].mean() == pytest.approx(1, rel=near)


def test_later_stages_read_what_was_made(played):
    name, _, results = played
    for frame in frames_of(name):
        total = expected(frame)["total"]
        table = read_table(results / "matter" / f"histogram_total.{frame.step:09}.csv")
        counts, _ = np.histogram(total, 10, (0, 5))
        np.testing.assert_array_equal(table["count"], counts)
        if name != "periodic":
            continue
        table = read_table(results / "matter" / f"power_spectrum_total.{frame.step:09}.csv")
        variance = ((total / total.mean() - 1) ** 2).mean()
        assert table.attributes["variance"] == pytest.approx(variance, rel=1e-11)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("deposit: {position: position, mesh: atoms, into: rho}", "not a uniform mesh"),
        ("deposit: {position: position, mesh: gird, into: rho}", "did you mean 'grid'"),
        ("deposit: {position: velocity_, mesh: grid, into: rho}", "did you mean 'velocity'"),
        (
            "deposit: {position: position, mesh: grid, into: mass}",
            "there is a field 'mass' already",
        ),
        ("deposit: {position: position, mesh: grid, into: rho, cloud: pcs}", "ngp, cic, tsc"),
        ("matter: {gas: mass, dark_matter: mass, baryon_fraction: 2, into: rho}", "from 0 to 1"),
    ],
)
def test_wrong_parameters_are_refused_at_their_line(stage, expected, build, tmp_path):
    made = scene("periodic", tmp_path)
    analyses = f"analyses:\n  wrong:\n    every: 50 steps\n    stages:\n      - {stage}\n"
    wrong = Scene(made.name, made.frames, made.catalogue, analyses, made.driver)
    _, done = wrong.run(build, tmp_path / "run", Placement(2, 1, "slabs"), fails=True)
    assert expected in done.stderr, done.stderr

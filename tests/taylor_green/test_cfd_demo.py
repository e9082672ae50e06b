# SPDX-License-Identifier: BSD-3-Clause
"""`make demo-cfd` in small: three modes, the same pictures in each, a film, and a page."""

import os
import subprocess
import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import read_table

ROOT = Path(__file__).parents[2]
MODES = ("synchronous", "asynchronous", "hybrid")
SETTINGS = ("elements=2", "reynolds=50", "max_dt=0.02", "end_time=1.2")  # 60 steps

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def demo(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cfd")
    if not (build / "miniapps/taylor_green/taylor_green").exists():
        pytest.skip("no Fortran")
    command = [ROOT / "tools/run_demo_cfd.sh", build, folder, *SETTINGS]
    done = limits.run(
        command,
        env={**os.environ, "PYTHON": sys.executable, "RANKS": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return folder


def test_same_pictures(demo):
    names = [f"film.{step:09}.png" for step in range(0, 61, 5)]
    shown = {}
    for mode in MODES:
        folder = demo / mode / "results/pictures"
        assert sorted(p.name for p in folder.glob("*.png")) == names
        pictures = [np.asarray(Image.open(folder / name).convert("RGB"), int) for name in names]
        shown[mode] = np.stack(pictures)
    assert (shown["asynchronous"] == shown["hybrid"]).all()
    assert abs(shown["synchronous"] - shown["hybrid"]).max() <= 1
    drawn = (shown["hybrid"][:, 60:, :560] != 255).any(axis=-1).mean(axis=(1, 2))
    assert (drawn > 0.1).all(), "there is hardly anything in the pictures"


def test_same_results(demo):
    """Asynchronous and hybrid runs have the same simulation ranks, so that only places differ."""
    one, other = (demo / mode / "results" for mode in MODES[1:])
    for path in ("compression/encode_box.csv", "averages/uncertainty_element_velocity.csv"):
        mine, theirs = read_table(one / path), read_table(other / path)
        for name in mine.columns:
            if name != "seconds":
                np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-12, atol=1e-14)
    table = read_table(one / "compression/encode_box.csv")
    assert (np.array(table["error_velocity"]) <= np.array(table["bound_velocity"])).all()
    assert len(table["step"]) == 7


def test_film_and_page(demo):
    film = Image.open(demo / "film.webp")
    assert film.n_frames == 13 and film.size == (800, 640)
    page = (demo / "modes.html").read_text(encoding="utf-8")
    assert all(mode in page for mode in MODES) and "data:image/webp;base64," in page
    assert "2 + 1" in page and "3 + 0" in page
    assert "A picture took" in page and "Run synchronously, pictures would have taken" in page

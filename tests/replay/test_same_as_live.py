# SPDX-License-Identifier: BSD-3-Clause
"""The cosmological simulation's snapshots, replayed with the same configuration, give what the run
gave while it went on, wherever the stages run then and in whichever format the fields are kept."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import mpirun, read_table
from replaying import assert_same, needs_hdf5, replay, write_hdf5

EXAMPLE = Path(__file__).parents[2] / "miniapps/cosmology/pillion.yaml"
SETTINGS = ["cells=16", "box=8", "steps=8", "length=16", "snapshot_every=2"]
SETTINGS += ["redshift=9", "final_redshift=1"]
SIDECARS = re.compile(r"^sidecars: .*$", re.MULTILINE)

# Ranks, sidecars, pretended nodes, where densities are made, format.
PLACEMENTS = [
    (1, "{}", 1, "simulation", "npy"),
    (3, "{per_node: 1}", 1, "sidecar", "npy"),
    (4, "{ranks: 2}", 1, "sidecar", "hdf5"),
    (4, "{ranks: 1}", 1, "simulation", "npy"),
    (6, "{per_node: 1}", 2, "simulation", "hdf5"),
]


@pytest.fixture(scope="module")
def live(build, tmp_path_factory):
    """A folder with snapshots, the configuration and the results of the run itself."""
    program = build / "miniapps/cosmology/cosmology"
    if not program.exists():
        pytest.skip("miniapps/cosmology was not built: FFTW with MPI was not found")
    folder = tmp_path_factory.mktemp("live")
    text = EXAMPLE.read_text(encoding="utf-8")
    for often, here in (("20 steps", "4 steps"), ("5 steps", "2 steps"), ("skip", "wait")):
        assert often in text
        text = text.replace(often, here)
    (folder / "pillion.yaml").write_text(text, encoding="utf-8")
    mpirun(3, program, *SETTINGS, "snapshots=snapshots", cwd=folder)
    return folder


def as_hdf5(snapshots: Path, folder: Path) -> None:
    """One file per step, with groups, and times as attributes instead of in snapshots.yaml."""
    about = (snapshots / "snapshots.yaml").read_text()
    times = {int(s): float(t) for s, t in re.findall(r"^  (\d+): \{time: (.*)\}$", about, re.M)}
    assert sorted(times) == [0, 2, 4, 6, 8]
    for step, time in times.items():
        arrays = {}
        for path in snapshots.glob(f"*.{step:06}.npy"):
            array = np.load(path)
            arrays[f"{'grid' if array.ndim > 2 else 'particles'}/{path.name.split('.')[0]}"] = array
        write_hdf5(folder / f"snap{step:03}.h5", arrays, time=time)
    (folder / "snapshots.yaml").write_text(about.split("steps:")[0])


@pytest.mark.parametrize(("ranks", "sidecars", "nodes", "place", "kind"), PLACEMENTS)
def test_products_are_the_same(live, build, tmp_path, ranks, sidecars, nodes, place, kind):
    configuration = SIDECARS.sub(f"sidecars: {sidecars}", (live / "pillion.yaml").read_text())
    mass = "particle_mass: $particle_mass"
    assert configuration.count(mass) == 1
    configuration = configuration.replace(mass, f"{mass}, at: {place}")
    (tmp_path / "pillion.yaml").write_text(configuration, encoding="utf-8")
    fields = live / "snapshots"
    if kind == "hdf5":
        needs_hdf5(build)
        fields = tmp_path / "fields"
        as_hdf5(live / "snapshots", fields)
    env = {"PILLION_PRETEND_NODES": nodes} if nodes > 1 else None
    done = replay(build, tmp_path, ranks, fields, "pillion.yaml", env=env)
    assert "5 steps, 0 to 8; 5 were due; 6 fields" in done.stdout
    tables = sorted(p.relative_to(live / "results") for p in (live / "results").rglob("*.csv"))
    again = sorted(
        p.relative_to(tmp_path / "results") for p in (tmp_path / "results").rglob("*.csv")
    )
    assert tables == again and len(tables) > 20
    names = {str(t) for t in tables}
    assert {"forest/lyman_alpha.csv", "matter/halos_matter.000000008.csv"} <= names
    for table in tables:
        assert_same(live / "results" / table, tmp_path / "results" / table)


def test_only_what_is_used_need_be_there(live, build, tmp_path):
    """One analysis, its own fields, and every second snapshot."""
    text = SIDECARS.sub("sidecars: {}", (live / "pillion.yaml").read_text())
    head = text[: text.index("analyses:")]
    spectrum = "analyses:\n  gas:\n    stages:\n      - statistics: {fields: n_HI}\n"
    (tmp_path / "pillion.yaml").write_text(head + spectrum, encoding="utf-8")
    for path in ("n_HI.000004.npy", "n_HI.000008.npy", "snapshots.yaml"):
        shutil.copy(live / "snapshots" / path, tmp_path)
    replay(build, tmp_path, 2, "n_HI.000004.npy", "n_HI.000008.npy", "pillion.yaml")
    table = read_table(tmp_path / "results/gas/statistics_n_HI.csv")
    assert list(table["step"]) == [4, 8] and table["time"][1] == 0.5
    for row, step in enumerate((4, 8)):
        values = np.load(live / f"snapshots/n_HI.{step:06}.npy")
        assert table["max"][row] == values.max()
        assert table["mean"][row] == pytest.approx(values.mean(), rel=1e-12)

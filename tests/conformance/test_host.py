# SPDX-License-Identifier: BSD-3-Clause
"""Every stage in programs that are not as a library would like: floating-point traps, another
rounding, no subnormal numbers, decimal commas. Products are the same bytes as in a plain program,
for values that are not numbers, infinite or huge, too; and each call leaves the program's thread as
it was, which host_driver.cpp checks. The list of stages is that of the build."""

import json
import os
import sys
from pathlib import Path

import limits
import pytest
from conftest import PACKAGE, mpirun
from placements import EVERYTHING
from test_catalyst import has_paraview

h5py = pytest.importorskip("h5py")

BUILD = Path(os.environ.get("PILLION_BUILD", "build"))
STAGES = Path(__file__).parent / "stages"
DATA = ("plain", "nan", "infinite", "huge")
EVERYTHING_UNUSUAL = "traps,rounding,flush,comma"

CATALOGUE = """
meshes:
  cube: {kind: uniform, cells: [16, 16, 16], length: [1, 1, 1], periodic: true, units: Mpc}
  layered: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1], levels: {count: 2, ratio: 2}}
  atoms: {kind: particles}
  box: {kind: spectral, order: 3, coordinates: xyz, units: m}
fields:
  density: {mesh: cube, type: float64, units: cm^-3}
  temperature: {mesh: cube, type: float64, units: K}
  velocity: {mesh: cube, type: float64, components: 3, units: km/s}
  heat: {mesh: layered, type: float64}
  position: {mesh: atoms, type: float64, components: 3}
  speed: {mesh: atoms, type: float64, components: 3}
  charge: {mesh: atoms, type: float64}
  type: {mesh: atoms, type: int32}
  id: {mesh: atoms, type: int64}
  xyz: {mesh: box, type: float64, components: 3, units: m}
  flow: {mesh: box, type: float64, components: 3, units: m/s}
  number: {mesh: box, type: int64, centering: cell}
scalars: {load: {}}
"""
SMALL = "size: [64, 48]"
# For each stage, what an analysis of its name does.
ANALYSES = {
    "autocorrelation": ["autocorrelation: {field: temperature, lags: 2, fit_every: 2}"],
    "average": ["average: {field: flow, into: means}", "statistics: {fields: [means]}"],
    "catalyst": [f"catalyst: {{script: '{STAGES}/paraview_view.py', fields: [density, velocity]}}"],
    "deposit": [
        "deposit: {position: position, mesh: cube, into: made}",
        "statistics: {fields: [made]}",
    ],
    "encode": [
        "encode: {fields: [density], codec: zfp, error: 1.5e-3}",
        "encode: {fields: [flow], codec: none}",
    ],
    "flatten": [
        "flatten: {fields: [heat], level: finest, by: interpolate, into: [flat]}",
        "statistics: {fields: [flat]}",
    ],
    "halos": ["halos: {field: density, thresholds: [[1.05, 1.25]], averages: [velocity]}"],
    "histogram": [
        "histogram: {field: density, range: auto, bins: 10}",
        "histogram: {field: temperature, range: [1.0e-3, 1.5], scale: log, weight: density,"
        " per_dex: true}",
    ],
    "image": [
        f"image: {{{SMALL}, draw: [volume: {{field: density}}]}}",
        f"image: {{name: surface, {SMALL}, draw: [isosurface: {{field: temperature,"
        " values: 1.00125}, slice: {field: density, axis: z, at: 0.51}]}",
        f"image: {{name: balls, {SMALL}, draw: [points: {{position: position, radius: 0.05,"
        " colour_by: charge}]}",
    ],
    "lyman_alpha": [
        "lyman_alpha: {neutral_hydrogen: density, temperature: temperature, velocity: velocity,"
        " omega_m: 0.3, h: 0.7, redshift: 3.5}"
    ],
    "magnitude": ["magnitude: {field: velocity, into: size}", "statistics: {fields: [size]}"],
    "matter": [
        "deposit: {position: position, mesh: cube, into: dark}",
        "matter: {gas: density, dark_matter: dark, baryon_fraction: 0.157, into: total}",
        "statistics: {fields: [total]}",
    ],
    "msd": ["msd: {image: null}"],
    "power_spectrum": ["power_spectrum: {field: density, line_of_sight: [0, 1, 2]}"],
    "python": [f"python: {{call: '{STAGES}/spread.py:spread', names: {{field: density}}}}"],
    "rdf": ["rdf: {species: {A: [1], B: [2]}, pairs: [[A, B]], cutoff: 0.25}"],
    "slice": ["slice: {field: density, axis: z, position: 0.51, thickness: 0.2}"],
    "statistics": ["statistics: {fields: [density, velocity, heat, speed, flow]}"],
    "time_average": [
        "time_average: {fields: [density], output_every: 2}",
        "time_average: {fields: [flow], output_every: 2}",
    ],
    "truncate": ["truncate: {fields: [flow], error: 1.5e-3}", "statistics: {fields: [flow]}"],
    "uncertainty": [
        "autocorrelation: {field: temperature, lags: 2, fit_every: 2}",
        "uncertainty: {field: temperature}",
    ],
    "vacf": ["vacf: {velocity: speed}"],
    "write_hdf5": ["write_hdf5: {fields: [density, velocity]}"],
    "write_idx": ["write_idx: {fields: [density]}"],
    "write_nek": ["write_nek: {fields: [flow]}"],
    "write_openpmd": ["write_openpmd: {fields: [density, position, charge]}"],
    "write_plotfile": ["write_plotfile: {fields: [heat]}"],
    "write_raw": ["write_raw: {fields: [density, velocity]}"],
    "write_vtkhdf": ["write_vtkhdf: {fields: [density, velocity]}"],
}
# Conditions and schedules are arithmetic, too.
SCHEDULES = {
    "statistics": "every: 10 steps, when: max(density) > -1.5e308 or mean(temperature) > 0.25",
    "histogram": "every: 0.5 time",
}


def stages_of_build() -> list[str]:
    """Without ParaView, which takes long: its test has another program for it."""
    names = sorted(path.stem for path in (BUILD / "stages").glob("*.so"))
    return [name for name in names if name != "catalyst" or (EVERYTHING and has_paraview())]


def configuration(output: str, names, sidecars: str = "") -> str:
    """The same text for every host, for it is part of products."""
    analyses = "".join(
        f"  {name}: {{{SCHEDULES.get(name, 'every: 10 steps')},"
        f" stages: [{', '.join('{' + stage + '}' for stage in ANALYSES[name])}]}}\n"
        for name in names
    )
    head = f"output: {output}\n{sidecars}"
    return f"{head}{CATALOGUE}analyses:\n{analyses}"


@pytest.fixture(scope="session")
def german(tmp_path_factory) -> dict:
    """The environment of a program in German. Locales of the system need not be installed."""
    folder = tmp_path_factory.mktemp("locales")
    made = limits.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if not (folder / "de_DE.UTF-8").is_dir():
        pytest.skip(f"localedef makes no German locale here: {made.stderr}")
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"}


def test_every_stage_of_the_build_is_tried():
    assert {path.stem for path in (BUILD / "stages").glob("*.so")} <= set(ANALYSES)


def play(build, folder: Path, host: str, names, sidecars: str, env=None, data=DATA) -> Path:
    """Plays all data in one launch of two simulation ranks; returns the folder of their results."""
    folder.mkdir()
    words = []
    for kind in data:
        file = folder / f"{kind}.yaml"
        file.write_text(configuration(kind, names, sidecars), encoding="utf-8")
        words += [file, kind]
    ranks = 3 if sidecars else 2
    driver = build / "tests/conformance/host_driver"
    done = mpirun(ranks, driver, host, 2, *words, env=env, cwd=folder, timeout=240)
    assert "solver ended well" in done.stdout
    return folder


# Of runs, not of values: they tell of times.
ABOUT_RUNS = {"progress.json", "progress-sidecars.json", ".pillion-run"}


def bytes_of_hdf5(path: Path) -> list:
    """Groups, attributes and values. The library stores when it wrote them, beside them."""
    found: list = []

    def attributes(name: str, item) -> None:
        found.append((name, sorted((key, repr(item.attrs[key])) for key in item.attrs)))
        if isinstance(item, h5py.Dataset):
            found.append((str(item.dtype), item.shape, repr(item[()].tolist())))

    with h5py.File(path) as file:
        attributes("/", file)
        file.visititems(attributes)
    return found


def content(path: Path):
    """What a product says, without how long it took."""
    if path.suffix in (".h5", ".vtkhdf"):
        return bytes_of_hdf5(path)
    if path.name == "report.json":
        report = json.loads(path.read_text(encoding="utf-8"))
        return [(one["name"], one["publications"], one["disabled"]) for one in report["analyses"]]
    if path.suffix == ".csv":
        lines = path.read_text(encoding="utf-8").splitlines()
        head = [line for line in lines if line.startswith("#")]
        rows = [line.split(",") for line in lines[len(head) :]]
        values = [n for n, name in enumerate(rows[0]) if not name.endswith("seconds")]
        return head, [[row[n] for n in values] for row in rows]
    return path.read_bytes()


def contents(folder: Path) -> dict:
    return {
        str(path.relative_to(folder)): content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ABOUT_RUNS and "timeline" not in path.parts
    }


def expect_same(found: Path, plain: Path) -> None:
    for kind in DATA:
        expected, seen = contents(plain / kind), contents(found / kind)
        assert sorted(seen) == sorted(expected), kind
        assert [n for n in expected if seen[n] != expected[n]] == [], kind
        assert len(expected) > 20


SIDECARS = {
    "simulation": "",
    "node": "sidecars: {per_node: 1, deadline: 60 s}\n",
    "network": "sidecars: {ranks: 1, deadline: 60 s}\n",
}
HOSTS = [("simulation", EVERYTHING_UNUSUAL), ("node", EVERYTHING_UNUSUAL)]
if EVERYTHING:
    HOSTS += [("network", EVERYTHING_UNUSUAL)]
    HOSTS += [(place, one) for place in SIDECARS for one in EVERYTHING_UNUSUAL.split(",")]


@pytest.fixture(scope="module")
def plain(build, tmp_path_factory):
    """Results in a plain program, by placement."""
    found = {}

    def results(place: str) -> Path:
        if place not in found:
            folder = tmp_path_factory.mktemp("plain") / place
            found[place] = play(build, folder, "plain", stages_of_build(), SIDECARS[place])
        return found[place]

    return results


@pytest.mark.parametrize(("place", "host"), HOSTS)
def test_products_do_not_depend_on_the_program(build, tmp_path, german, plain, place, host):
    hostile = play(build, tmp_path / "run", host, stages_of_build(), SIDECARS[place], german)
    expect_same(hostile, plain(place))


IN_PYTHON = """
analyses:
  statistics: {every: 0.5 time, stages: [statistics: {fields: [density]}]}
  histogram: {every: 1 steps, stages: [histogram: {field: density, range: [0.5, 1.5], bins: 4}]}
  raw: {every: 1 steps, stages: [write_raw: {fields: [density]}]}
"""


@pytest.mark.skipif(
    not any((BUILD / "python/pillion").glob("_stage*.so")), reason="no modules for Python"
)
def test_a_program_in_python(build, tmp_path, german):
    stage = f"  python: {{stages: [{{{ANALYSES['python'][0]}}}]}}\n"
    grid = """
meshes: {cube: {kind: uniform, cells: [16, 16, 16], length: [1, 1, 1], periodic: true}}
fields: {density: {mesh: cube, type: float64}}
"""
    program = Path(__file__).parent / "german_program.py"
    for name, words in (("plain", []), ("unusual", ["unusual"])):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "run.yaml"
        output = tmp_path / name / "results"
        file.write_text(f"output: {output}\n{grid}{IN_PYTHON}{stage}", encoding="utf-8")
        env = {"PYTHONPATH": PACKAGE, **(german if words else {})}
        done = mpirun(1, sys.executable, program, file, *words, env=env, cwd=tmp_path / name)
        assert "solver ended well" in done.stdout, done.stderr
    expected, seen = (without_runs(tmp_path / name / "results") for name in ("plain", "unusual"))
    assert sorted(seen) == sorted(expected)
    assert [name for name in expected if seen[name] != expected[name]] == []
    assert len(expected) >= 10


def without_runs(folder: Path) -> dict:
    """Contents of tables and raw values, without their heads, which name the run."""
    return {
        str(path.relative_to(folder)): [
            line for line in path.read_bytes().split(b"\n") if not line.startswith((b"#", b"run:"))
        ]
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".csv", ".raw", ".steps") and "write_" not in path.name
    }

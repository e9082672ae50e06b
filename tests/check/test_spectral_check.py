# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion check` says of spectral meshes: which stages take them, that the others refuse them
in a sentence with its place, and how many bytes of each element cross to sidecars."""

import limits
import pytest
from checking import checker

HEAD = """
output: results
sidecars: {ranks: 1}
meshes:
  box: {kind: spectral, order: 7, coordinates: xyz, units: m}
  atoms: {kind: particles}
  grid: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1]}
fields:
  xyz: {mesh: box, type: float64, components: 3, units: m}
  velocity: {mesh: box, type: float64, components: 3}
  heat: {mesh: box, type: float32}
  number: {mesh: box, type: int64, centering: cell}
  kind: {mesh: box, type: int32, centering: cell}
  image: {mesh: box, type: int32, components: 3}
analyses:
  a:
    stages:
      - """

GOOD = [
    "statistics: {fields: [heat, number, velocity]}",
    "histogram: {field: velocity, component: magnitude, range: auto, weight: heat}",
    "magnitude: {field: velocity, into: speed}",
    "write_hdf5: {fields: [xyz, heat, number]}",
    "write_raw: {fields: [xyz, heat, number]}",
    "slice: {field: heat, thickness: 0.5}",
    "truncate: {fields: [heat], error: 1e-3}",
    "encode: {fields: [heat]}",
]
REFUSED = {
    "rdf: {type: kind, position: xyz, species: {A: [1]}, pairs: [[A, A]], cutoff: 1}": (
        "is not on a mesh of particles"
    ),
    "msd: {id: number, type: kind, position: xyz, image: image, species: {A: [1]}}": (
        "is not on a mesh of particles"
    ),
    "vacf: {id: number, type: kind, species: {A: [1]}}": "is not on a mesh of particles",
    "deposit: {position: xyz, mesh: grid, into: rho}": "is not on a mesh of particles",
    "deposit: {position: xyz, mesh: box, into: rho}": "is not on a mesh of particles",
    "halos: {field: heat, thresholds: [1]}": "uniform mesh",
    "power_spectrum: {field: heat}": "not on a uniform mesh",
    "matter: {gas: heat, dark_matter: heat, baryon_fraction: 0.2, into: total}": (
        "uniform, rectilinear or curvilinear mesh"
    ),
    "write_idx: {fields: [heat]}": "is not on a uniform mesh, which write_idx needs",
    "histogram: {field: heat, range: auto, weight: number}": "both must have the same centering",
    "write_hdf5: {fields: [xyz, heat], position: xyz}": "goes with particles",
}


@pytest.fixture
def check(build, tmp_path):
    return checker(build, tmp_path)


def skip_without(build, stage: str) -> None:
    if not (build / f"stages/{stage.split(':')[0]}.so").exists():
        pytest.skip("this stage was not built")


@pytest.mark.parametrize("stage", GOOD)
def test_stages_that_take_them(check, build, stage):
    skip_without(build, stage)
    assert check(HEAD + stage).messages == []


@pytest.mark.parametrize("stage", REFUSED)
def test_stages_that_refuse_them(check, build, stage):
    skip_without(build, stage)
    (mistake,) = check(HEAD + stage).mistakes
    assert mistake["line"] == 18 and REFUSED[stage] in mistake["message"]


FLAT = HEAD.replace("kind: spectral", "kind: spectral, dimensions: 2")


@pytest.mark.parametrize("stage", GOOD)
def test_stages_that_take_elements_of_two_dimensions(check, build, stage):
    skip_without(build, stage)
    assert check(FLAT + stage).messages == []


@pytest.mark.parametrize(
    "stage",
    [
        "image: {draw: [isosurface: {field: heat, values: 1}]}",
        "image: {draw: [volume: {field: heat}]}",
    ],
)
def test_stages_that_need_hexahedra(check, build, stage):
    skip_without(build, stage)
    (mistake,) = check(FLAT + stage).mistakes
    assert "needs elements of three dimensions; those of mesh 'box' have two" in mistake["message"]


OTHER = HEAD.replace(
    "units: m}\n  atoms", "units: m, point_sets: {gauss: {points: 6}}}\n  atoms"
).replace("heat: {mesh: box, type: float32}", "heat: {mesh: box, type: float32, points: gauss}")


@pytest.mark.parametrize(
    "stage",
    [
        "statistics: {fields: [heat]}",
        "histogram: {field: heat, range: auto}",
        "average: {field: heat, into: mean}",
        "write_raw: {fields: [heat, velocity]}",
    ],
)
def test_stages_that_take_values_at_other_points(check, build, stage):
    skip_without(build, stage)
    assert check(OTHER + stage).mistakes == []


@pytest.mark.parametrize(
    "stage",
    [
        "write_hdf5: {fields: [heat]}",
        "write_vtkhdf: {fields: [heat]}",
        "truncate: {fields: [heat], error: 1e-3}",
        "encode: {fields: [heat]}",
        "image: {draw: [slice: {field: heat, axis: z, at: 1}]}",
        "autocorrelation: {field: heat, lags: 8}",
    ],
)
def test_stages_that_need_the_points_of_the_mesh(check, build, stage):
    skip_without(build, stage)
    (mistake,) = check(OTHER + stage).mistakes
    said = "'heat' has values at the points 'gauss' of elements of mesh 'box', 6 along each axis"
    assert said in mistake["message"]


def test_values_of_a_histogram_are_at_the_same_points(check, build):
    (mistake,) = check(
        OTHER + "histogram: {field: velocity, component: 0, range: auto, weight: heat}"
    ).mistakes
    assert "have values at different points of elements" in mistake["message"]


def test_bytes_of_elements(check, build, tmp_path):
    made = "magnitude: {field: velocity, into: speed, at: simulation}\n"
    text = HEAD + made + "      - statistics: {fields: [speed, number, heat]}\n"
    crossing = {one["field"]: one for one in check(text).said["crossing"]}
    assert {name: one["bytes"] for name, one in crossing.items()} == {
        "speed": 8 * 512,
        "number": 8,
        "heat": 4 * 512,
        "xyz": 3 * 8 * 512,  # volumes are worked out from it
    }
    assert {one["per"] for one in crossing.values()} == {"element"}
    done = limits.run(
        [build / "bin/pillion-check", "checked.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    assert "for each element of 'box'" in done.stdout

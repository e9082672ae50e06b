# SPDX-License-Identifier: BSD-3-Clause
"""The table of stages by mesh in docs/concepts/meshes.md says what `pillion check` says: a stage
works on a mesh, or refuses it with a reason."""

import re
from pathlib import Path

import pytest
from checking import checker

PAGE = Path(__file__).parents[2] / "docs/concepts/meshes.md"
MESHES = {
    "uniform, cartesian": "kind: uniform, cells: [8, 8, 8], length: [1, 1, 1], periodic: true",
    "uniform, other metric": "kind: uniform, cells: [8, 8, 8], length: [90, 60, 1], "
    "origin: [0, 0, 0], metric: spherical, radius: 10",
    "rectilinear": "kind: rectilinear, cells: [8, 8, 8]",
    "curvilinear": "kind: curvilinear, cells: [8, 8, 8], coordinates: places",
    "unstructured": "kind: unstructured",
}
BOX = "coarse: {kind: uniform, cells: [4, 4, 4], length: [1, 1, 1], periodic: true, units: Mpc}"
COARSE = {  # what `average` makes means on
    "uniform, other metric": BOX.replace("[1, 1, 1]", "[90, 60, 1]").replace(
        "periodic: true", "origin: [0, 0, 0], metric: spherical, radius: 10"
    ),
    "rectilinear": "coarse: {kind: rectilinear, cells: [4, 4, 4], units: Mpc}",
}
STAGES = {
    "statistics": "{fields: [a]}",
    "histogram": "{field: a, range: auto, against: {field: b, range: auto}}",
    "average": "{field: a, onto: coarse, into: mean}",
    "slice": "{field: a, axis: x}",
    "time_average": "{fields: [a]}",
    "autocorrelation": "{field: a}",
    "uncertainty": "{field: a}",
    "magnitude": "{field: v, into: speed}",
    "matter": "{gas: a, dark_matter: b, baryon_fraction: 0.16, into: total}",
    "python": '{call: "call.py:look"}',
    "write_raw": "{fields: [a]}",
    "write_hdf5": "{fields: [a]}",
    "write_vtkhdf": "{fields: [a]}",
    "write_openpmd": "{fields: [a]}",
    "write_plotfile": "{fields: [a]}",
    "write_nek": "{fields: [a]}",
    "write_idx": "{fields: [a]}",
    "power_spectrum": "{field: a}",
    "lyman_alpha": "{neutral_hydrogen: a, temperature: b, velocity: v, omega_m: 0.3, h: 0.7, "
    "redshift: 3}",
    "deposit": "{position: x, mesh: m, into: mass}",
    "halos": "{field: a, thresholds: [[80, 200]]}",
    "image": "{draw: [slice: {field: a, at: 0.5}]}",
    "catalyst": '{script: "look.py", fields: [a]}',
    "encode": "{fields: [a], error: 0.1}",
    "flatten": "{fields: [a], into: [flat], level: 0}",
    "truncate": "{fields: [a], error: 0.1, into: [short]}",
}
CALL = "import pillion\n\n\n@pillion.stage('a')\ndef look(step):\n    return {'n': 1}\n"


def table() -> dict[tuple[str, str], str]:
    """What the page says, by stage and mesh."""
    text = PAGE.read_text()
    lines = text[text.index("| stage | uniform, cartesian") :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    meshes = rows[0][1:]
    assert meshes == list(MESHES)
    out = {}
    for names, *entries in rows[2:]:
        for stage in re.findall(r"`(\w+)`", names):
            out |= {(stage, mesh): what for mesh, what in zip(meshes, entries, strict=True)}
    return out


def configuration(stage: str, mesh: str) -> str:
    before = "      - autocorrelation: {field: a}\n" if stage == "uncertainty" else ""
    return (
        f"output: results\nmeshes:\n  m: {{{MESHES[mesh]}, units: Mpc}}\n"
        f"  {COARSE.get(mesh, BOX)}\n  atoms: {{kind: particles, units: Mpc}}\n"
        "fields:\n"
        f"  a: {{mesh: m, type: float64, units: {'1/cm^3' if stage == 'lyman_alpha' else 'K'}}}\n"
        "  b: {mesh: m, type: float64, units: K}\n"
        "  v: {mesh: m, type: float64, components: 3, units: km/s}\n"
        "  x: {mesh: atoms, type: float64, components: 3}\n"
        + (
            "  places: {mesh: m, type: float64, components: 3, centering: point}\n"
            if mesh == "curvilinear"
            else ""
        )
        + f"analyses:\n  look:\n    stages:\n{before}      - {stage}: {STAGES[stage]}\n"
    )


def test_every_entry_works_or_is_refused_with_a_reason():
    for (stage, mesh), what in table().items():
        assert stage in STAGES
        assert what.startswith(("works", "refused", "the same", "`volume`", "counts", "mean of")), (
            f"{stage} on {mesh}: {what}"
        )


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("stage", STAGES)
def test_the_stage_does_what_the_table_says(build, tmp_path, stage, mesh):
    said = table()
    if (stage, mesh) not in said:
        pytest.skip("the table does not mention it")
    if not (build / f"stages/{stage}.so").exists():
        pytest.skip(f"stage {stage} was not built")
    (tmp_path / "call.py").write_text(CALL)
    (tmp_path / "look.py").write_text("def catalyst_execute(info):\n    pass\n")
    answer = checker(build, tmp_path)(configuration(stage, mesh))
    if any(message.startswith("ParaView is not there") for message in answer.messages):
        pytest.skip("ParaView is not there")
    if said[stage, mesh].startswith("refused"):
        assert answer.status == 1
        (message,) = answer.messages
        reasons = ("mesh", "field", "levels", "cells", "particles")
        assert any(word in message for word in reasons), message
    else:
        assert answer.messages == []

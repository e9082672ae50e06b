# SPDX-License-Identifier: BSD-3-Clause
"""Names that formats give another meaning: each writer keeps them, and each reader finds them, or
the configuration is refused at its line before the first step. Datasets are compared with the
array that was shared.
"""

import json
import os

import h5py
import numpy as np
import pytest

pillion = pytest.importorskip("pillion")
pytest.importorskip("pillion._core")

# Letters, quotes, and signs that YAML, CSV, XML, HTML, JSON, shells, printf, TeX, IDX and xarray
# give a meaning.
KEPT = [
    "mole fraction", "a,b", 'say "x"', "it's", "x$y$", "$", "a%d", "%s", "%20", "a:b", ": x", "ρ",
    "日本", "a\\b", "\\alpha", "#a", "a #b", "-a", "a=b", "[a]", "{a}", "a<b>&c", "a|b", "*", "?",
    "~", "a.b", "..a", "null", "1e5", "true", "a;b", "a_b^2", "%(x)", "`x`", "!t", "&t", "@t", "_",
    "__", "T(0,0)", "a+b", "x\u00a0y", "y" * 150, "step", "time", "z",
]  # fmt: skip
REFUSED = ["a/b", "/", ".", "..", " lead", "trail ", "z" * 201, "a\nb", "a\tb", "a\0b", ""]
VALUES = np.random.default_rng(0).random((3, 4, 5))
WRITERS = {
    "raw": "write_raw: {fields: [%s], name: d}",
    "idx": "write_idx: {fields: [%s], name: d}",
    "hdf5": "write_hdf5: {fields: [%s], name: d}",
    "plotfile": "write_plotfile: {fields: [%s], name: d}",
    "openpmd": "write_openpmd: {fields: [%s], name: d, records: {%s: u}}",
    "vtkhdf": "write_vtkhdf: {fields: [%s], name: d}",
    "tables": "statistics: {fields: [%s]}",
}
TAKEN_BY_FILE = {("hdf5", "z")}  # refused by the stage: the file has an axis of that name


def text_of(writer: str, field: str = "t", mesh: str = "m", analysis: str = "a") -> str:
    def quoted(name):  # as a value; `$` begins a parameter there
        return json.dumps(name.replace("$", "$$"), ensure_ascii=False)

    stage = WRITERS[writer].replace("%s", quoted(field))
    field, mesh_key, analysis = (json.dumps(n, ensure_ascii=False) for n in (field, mesh, analysis))
    return (
        f"output: results\nmeshes: {{{mesh_key}: {{kind: uniform, cells: [3, 4, 5]}}}}\n"
        f"fields: {{{field}: {{mesh: {quoted(mesh)}, type: float64, units: 'K \"$$'}}}}\n"
        f"analyses: {{{analysis}: {{every: 1 steps, stages: [{stage}]}}}}\n"
    )


def run(folder, text: str, field: str) -> None:
    """Raises Error if the configuration is refused."""
    (folder / "pillion.yaml").write_text(text, encoding="utf-8")
    with pillion.open(folder / "pillion.yaml", overrides={"output": str(folder / "r")}) as session:
        session.share(field, VALUES)
        for step in range(2):
            session.step(step, 0.5 * step)


def written(folder, writer: str, field: str, analysis: str) -> np.ndarray:
    """The field at the last step, [x, y, z]."""
    if writer == "vtkhdf":
        (file,) = sorted((folder / f"r/{analysis}/d_vtkhdf").glob("*.000000001.vtkhdf"))
        with h5py.File(file) as opened:
            return opened["VTKHDF/CellData"][field][...].T.reshape(3, 4, 5)
    found = pillion.results(folder / "r")
    if writer == "tables":
        table = found[f"{analysis}/statistics_{field}"]
        assert float(table["mean"][-1]) == pytest.approx(VALUES.mean(), rel=1e-12)
        return VALUES
    dataset = found[f"{analysis}/d"]
    name = {"openpmd": "u"}.get(writer, field)
    taken = name in dataset.coords or name in dataset.dims
    variable = dataset[f"{name}_of_field" if taken else name]
    if writer in ("raw", "idx"):
        assert variable.attrs["units"] == 'K "$'
    return np.asarray(variable)[-1].T


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch):
    monkeypatch.setitem(os.environ, "PILLION_PROGRESS", "0")


@pytest.mark.parametrize("writer", WRITERS)
def test_fields_of_any_name_are_written_and_read(writer, tmp_path):
    for number, name in enumerate(KEPT):
        if (writer, name) in TAKEN_BY_FILE:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        run(folder, text_of(writer, field=name), name)
        assert np.array_equal(written(folder, writer, name, "a"), VALUES), name


@pytest.mark.parametrize("writer", WRITERS)
def test_meshes_and_analyses_of_any_name_are_written_and_read(writer, tmp_path):
    for number, name in enumerate(KEPT):
        if name.startswith("."):
            continue  # not an analysis
        folder = tmp_path / str(number)
        folder.mkdir()
        run(folder, text_of(writer, mesh=name, analysis=name), "t")
        assert np.array_equal(written(folder, writer, "t", name), VALUES), name


def test_other_names_are_refused_at_their_line(tmp_path):
    for name in REFUSED:
        for line, what in ((2, "mesh"), (3, "field")):
            with pytest.raises(pillion.Error) as refused:
                run(tmp_path, text_of("tables", **{what: name}), "t")
            assert f"pillion.yaml:{line}: " in str(refused.value), (name, refused.value)
            assert not (tmp_path / "r").exists()


def test_reports_show_any_name(tmp_path):
    for number, name in enumerate(["x$y$", "_", "a<b>&c", "a,b", 'say "x"', "\\alpha", "%s"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        run(folder, text_of("tables", name, name, name), name)
        made = pillion.make_report(folder / "r")
        assert made.problems == [], name

# SPDX-License-Identifier: BSD-3-Clause
"""A program that runs a small simulation for each of many names, and looks for them in what was
written; test_names.py starts it as `name_round_trip.py DEED WRITER`. Ends with a traceback that
names the first name which is lost.
"""

import json
import re
import sys
from pathlib import Path

import h5py
import numpy as np
import pillion

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

    key = json.dumps(field, ensure_ascii=False)
    stage = re.sub("%s(:?)", lambda m: f"{key}:" if m[1] else quoted(field), WRITERS[writer])
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
        assert abs(float(table["mean"][-1]) - VALUES.mean()) < 1e-12
        return VALUES
    dataset = found[f"{analysis}/d"]
    taken = field in dataset.coords or field in dataset.dims
    variable = dataset[f"{field}_of_field" if taken else field]
    if writer in ("raw", "idx"):
        assert variable.attrs["units"] == 'K "$'
    return np.asarray(variable)[-1].T


def keep_fields(writer: str) -> None:
    for number, name in enumerate(KEPT):
        if (writer, name) in TAKEN_BY_FILE:
            continue
        folder = made(number)
        run(folder, text_of(writer, field=name), name)
        assert np.array_equal(written(folder, writer, name, "a"), VALUES), name


def keep_meshes_and_analyses(writer: str) -> None:
    for number, name in enumerate(KEPT[::3]):
        if name.startswith("."):
            continue  # not an analysis
        folder = made(number)
        run(folder, text_of(writer, mesh=name, analysis=name), "t")
        assert np.array_equal(written(folder, writer, "t", name), VALUES), name


def refuse_others(writer: str) -> None:
    for name in REFUSED:
        for line, what in ((2, "mesh"), (3, "field")):
            try:
                run(Path(), text_of(writer, **{what: name}), "t")
            except pillion.Error as error:
                assert f"pillion.yaml:{line}: " in str(error), (name, str(error))
            else:
                raise AssertionError(f"{name!r} was not refused")
            assert not Path("r").exists()


def show_in_reports(writer: str) -> None:
    for number, name in enumerate(["x$y$", "_", "a<b>&c", "a,b", 'say "x"', "\\alpha", "%s"]):
        folder = made(number)
        run(folder, text_of(writer, name, name, name), name)
        assert pillion.make_report(folder / "r").problems == [], name


def made(number: int) -> Path:
    folder = Path(str(number))
    folder.mkdir()
    return folder


if __name__ == "__main__":
    deeds = (keep_fields, keep_meshes_and_analyses, refuse_others, show_in_reports)
    {deed.__name__: deed for deed in deeds}[sys.argv[1]](sys.argv[2])

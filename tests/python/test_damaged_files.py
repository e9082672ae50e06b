# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files of a run, tables and datasets: readers take them or raise Error with the file's
name, and nothing else. PILLION_TEST_ALL=1 tries far more damage.
"""

import os
import random
import re
from pathlib import Path

import pillion.idx
import progress_sample
import pytest
from pillion import Error, liveness
from pillion.liveness import state_of, time_of
from pillion.progress import read_parts, read_progress
from pillion.report.run import read_run
from pillion.report.timeline import read_timeline
from pillion.report.unfinished import read_any_run
from pillion.tables import read_comparison, read_head, read_table
from pillion.view.slices import describe
from pillion.watch import draw
from pillion.watch.model import make_view
from sample import make_sample
from view_sample import write

TRIALS = 20000 if os.environ.get("PILLION_TEST_ALL") == "1" else 250
STRANGE = [
    *(b"[", b"{", b'"', b"\0", b"-", b"9" * 30, b"1e999", b"NaN", b"null", b"\xff", b": ", b"\n"),
    *(b"- ", b"[]", b"{}", b"!!", b"&a *a", b"[" * 3000, b"true", b"-1", b"9223372036854775807"),
]
VALUES = [b"null", b"-1", b"1e400", b"9" * 40, b'"x"', b"[]", b"{}", b"true", b'"\\u0000"', b"NaN"]


def damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + data[at + rng.randrange(1, 40) :]
        elif kind == 2:
            data = data[:at] + rng.choice(STRANGE) + data[at:]
        elif kind == 3:
            data = data[:at] + data[at : at + rng.randrange(200)] + data[at:]
        elif kind == 4:
            data = data[:at]
        elif kind == 5:
            lines = data.split(b"\n")
            del lines[rng.randrange(len(lines))]
            data = b"\n".join(lines)
        elif values := list(re.finditer(rb'-?\d+(\.\d+)?|"[^"]*"', data)):
            value = rng.choice(values)
            data = data[: value.start()] + rng.choice(VALUES) + data[value.end() :]
    return data


def show_progress(path):
    state_of(read_progress(path))
    view = make_view(read_parts(path.parent), state_of, time_of)
    if view is not None:  # it is of no known role otherwise
        draw.head(view, 100)
        draw.publications(view)


def show_dataset(path):
    dataset = pillion.idx.open(path)
    describe(dataset)
    for name in dataset.fields:
        for step in dataset.steps[:2]:
            dataset[name].read(step=step)


READERS = {
    "table": ("structure/rdf.csv", read_table),
    "head of a table": ("structure/rdf.csv", read_head),
    "comparison": ("structure/rdf.csv", read_comparison),
    "progress": ("progress.json", show_progress),
    "unfinished run": ("progress.json", lambda path: read_any_run(path.parent)),
    "report": ("report.json", lambda path: read_run(path.parent)),
    "timeline": ("timeline/simulation-000000.json", lambda path: read_timeline([path])),
    "dataset": ("view/d.idx", show_dataset),
}


@pytest.fixture(autouse=True)
def no_wait(monkeypatch):
    """A host whose name is damaged is another node, whose run would be waited for."""
    now = [0.0]
    eye = liveness.Observer(lambda: now[0], lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(liveness, "observer", eye)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    make_sample(folder)
    progress_sample.write(folder, progress_sample.progress())
    (folder / "view").mkdir()
    write(folder / "view")
    return folder


@pytest.mark.parametrize("kind", READERS)
def test_brackets_without_end_are_an_error(folder, tmp_path, kind):
    name, read = READERS[kind]
    path = tmp_path / Path(name).name
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(Error, match=re.escape(str(tmp_path))):
        read(path)


def test_a_template_that_names_a_folder_is_an_error_with_the_name_of_the_file(folder):
    path = folder / "view/template.idx"
    text = (folder / "view/d.idx").read_text()
    path.write_text(re.sub(r"(?<=\(filename_template\)\n).*", ".", text))
    with pytest.raises(Error, match=re.escape(str(path))):
        show_dataset(path)


@pytest.mark.parametrize("kind", READERS)
def test_damage_is_an_error_with_the_name_of_the_file(folder, tmp_path, kind):
    name, read = READERS[kind]
    whole = (folder / name).read_bytes()
    # Datasets lie beside their blocks.
    path = (folder / "view" if kind == "dataset" else tmp_path) / ("x" + name.replace("/", "-"))
    if name in ("progress.json", "report.json"):
        path = tmp_path / name
    path.write_bytes(whole)
    read(path)
    refused = 0
    for seed in range(TRIALS):
        path.write_bytes(damaged(whole, random.Random(seed)))
        try:
            read(path)
        except Error as error:
            refused += 1
            assert str(path.parent) in str(error), (seed, str(error))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
    assert refused > TRIALS // 20

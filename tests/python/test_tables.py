# SPDX-License-Identifier: BSD-3-Clause
"""Reading table products: values come back bit for bit, and broken files are told apart."""

import math
import re

import numpy as np
import pytest
from pillion import Error, read_table
from pillion.datasets.kept import rows_of
from pillion.run_files import entry_of_head
from pillion.tables import read_head
from sample import CONFIGURATION, table_text

REALS = np.array([0.1, 1e-300, -math.pi, 1e22, math.nan, math.inf])
INTEGERS = np.array([0, 1, -5, 2**62, 7, 2**53 + 1])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "made.csv"
    columns = [("x", "Å", REALS), ("n", "", INTEGERS)]
    attributes = [("tiny", 1e-05, "Å^2/fs"), ("origins", "1e-05", ""), ("whole", 3, "")]
    text = table_text(
        title='A "title"',
        analysis="a",
        stage="s",
        name="made",
        columns=columns,
        attributes=attributes,
        step=42,
        time=21.5,
        skipped=3,
        coarsened=4,
        lost=5,
    )
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_come_back_bit_for_bit(path):
    table = read_table(path)
    np.testing.assert_array_equal(table["x"], REALS)
    np.testing.assert_array_equal(table["n"], INTEGERS)
    assert table["x"].dtype == np.float64
    assert table["n"].dtype == np.int64
    assert table.rows == len(REALS)
    assert [c.units for c in table.columns.values()] == ["Å", ""]


def test_whole_reals_stay_reals(path):
    text = path.read_text()
    body = text.index("x,n\n") + 4
    path.write_text(f"{text[:body]}300,1\n300,2\n")
    assert read_table(path)["x"].dtype == np.float64


def test_columns_without_a_type_are_guessed(path):
    path.write_text(re.sub(r', type: "\w+"', "", path.read_text()))
    test_columns_come_back_bit_for_bit(path)


def test_head(path):
    table = read_table(path)
    assert (table.title, table.analysis, table.stage, table.name) == ('A "title"', "a", "s", "made")
    assert (table.step, table.time, table.time_units) == (42, 21.5, "fs")
    assert (table.publications, table.skipped) == (21, 3)
    assert (table.coarsened, table.lost) == (4, 5)
    assert table.configuration == CONFIGURATION


def test_head_of_an_older_table(path):
    path.write_text(re.sub(r"# (coarsened|lost): .*\n", "", path.read_text()))
    assert (read_table(path).coarsened, read_table(path).lost) == (0, 0)


def test_attributes_keep_their_kind(path):
    attributes = read_table(path).attributes
    assert attributes["tiny"].value == 1e-05
    assert attributes["tiny"].units == "Å^2/fs"
    assert attributes["origins"].value == "1e-05"
    assert attributes["whole"].value == 3


def test_number_without_a_point_is_a_number(path):
    path.write_text(path.read_text().replace("value: 1e-05, units", "value: 1e-7, units"))
    assert read_table(path).attributes["tiny"].value == 1e-7


def test_no_rows(path):
    text = path.read_text()
    path.write_text(text[: text.index("x,n\n") + 4])
    assert read_table(path).rows == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# pillion: table 1", "# pillion: table 9", "table 9"),
        ("# pillion: table 1\n", "", "not a table of Pillion"),
        ("# title:", "# title: [", "not YAML"),
        ("x,n\n", "x,m\n", r"names the columns \['x', 'n'\], the file \['x', 'm'\]"),
        ("0.1,0\n", "0.1\n", "row 1 has 1 values, expected 2"),
        ("0.1,0\n", "0.1,zero\n", "column 'n' holds something that is not an integer"),
        ("0.1,0\n", "none,0\n", "column 'x' holds something that is not a number"),
        ("# step: 42", "# step: many", "head that lacks or garbles"),
        ("# stage:", "# stags:", "'stage'"),
    ],
)
def test_broken(path, old, new, message):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(Error, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_cut_short(path):
    path.write_text(path.read_text()[:-3])
    with pytest.raises(Error, match="cut short"):
        read_table(path)


def test_missing_and_not_text(tmp_path):
    with pytest.raises(Error, match="cannot read"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(Error, match="not UTF-8"):
        read_table(tmp_path / "picture.csv")


@pytest.mark.parametrize("left", ["#1,2\n#3,4\n", "#1,2\n#3", "#1", "0.5,1\n#3,4\n"])
def test_rows_that_are_being_added_are_passed_over(path, left):
    """What a writer, or one that was killed, has of them begins with a comment's character."""
    rows = len(REALS) + left.count("0.5")
    path.write_text(path.read_text() + left)
    assert read_table(path).rows == read_head(path).rows == rows_of(path) == rows
    np.testing.assert_array_equal(read_table(path)["x"][: len(REALS)], REALS)
    pandas = pytest.importorskip("pandas")
    if left.endswith("\n"):
        assert len(pandas.read_csv(path, comment="#")) == rows


def test_numbers_of_a_head_may_have_blanks_behind_them(path):
    padded = re.sub(r"^(# (?:step|time): \S+)$", r"\1" + 12 * " ", path.read_text(), flags=re.M)
    path.write_text(padded)
    table = read_table(path)
    assert (table.step, table.time) == (42, 21.5)
    assert entry_of_head(path, "time") == "21.5"

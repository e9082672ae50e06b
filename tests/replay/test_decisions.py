# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion replay` decides before it reads: which rank has which part of an array, which array
suits which field, and which file holds which field at which step.
"""

from math import prod
from pathlib import Path

import numpy as np
import pytest
from pillion.datasets.file_arrays import read_box, runs_of
from pillion.datasets.npy_files import BEGIN, head_size, parse_head
from pillion.errors import Error
from pillion.insitu.catalogue import Field
from pillion.insitu.step import Domain
from pillion.replay.arrays import COMPONENTS, Dimension, Stored, arrange, fits, number_type, part_of
from pillion.replay.frames import Found, Names, field_at_step, last_number, make_frames
from pillion.replay.repeated import without_repeated
from pillion.replay.snapshots import About, AboutStep

SHAPES = [(1,), (7,), (3, 4), (1, 1, 5), (5, 1, 1), (4, 3, 2), (2, 2, 2, 3), (6, 6, 6), (0, 3)]
F = Path("f.npy")


@pytest.mark.parametrize("shape", [*SHAPES, (0,), (5, 0)])
def test_all_parts_together_are_the_array(shape):
    for ranks in range(1, 41):
        times = np.zeros(prod(shape), int)
        for rank in range(ranks):
            begins, length = runs_of(shape, part_of(list(shape), rank, ranks))
            for begin in begins:
                times[begin : begin + length] += 1
        assert (times == 1).all()


def test_slabs_are_even_and_in_one_piece():
    for ranks in range(1, 11):
        for rank in range(ranks):
            part = part_of([10, 4, 3], rank, ranks)
            count = prod(hi - lo for lo, hi in part)
            assert 12 * (10 // ranks) <= count <= 12 * -(-10 // ranks)
            assert len(runs_of([10, 4, 3], part)[0]) == 1


def test_ranks_that_outnumber_planes_share_them():
    assert part_of([2, 4, 8], 0, 4) == ((0, 1), (0, 2), (0, 8))
    assert part_of([2, 4, 8], 3, 4) == ((1, 2), (2, 4), (0, 8))
    assert part_of([2, 2, 8], 5, 8) == ((1, 2), (0, 1), (4, 8))
    counts = [prod(hi - lo for lo, hi in part_of([3, 4, 8], r, 12)) for r in range(12)]
    assert counts == [8] * 12


@pytest.mark.parametrize(
    ("box", "runs"),
    [
        (((0, 3), (0, 4), (0, 5)), 1),
        (((1, 2), (0, 4), (0, 5)), 1),
        (((0, 3), (1, 3), (0, 5)), 3),
        (((1, 3), (1, 3), (2, 4)), 4),
        (((2, 3), (3, 4), (4, 5)), 1),
        (((2, 2), (3, 4), (4, 5)), 0),
    ],
)
def test_runs_follow_each_other_as_the_values_do(tmp_path, box, runs):
    """And nothing else is read."""
    all_values = np.arange(60.0).reshape(3, 4, 5)
    wanted = all_values[tuple(slice(*span) for span in box)]
    begins, length = runs_of((3, 4, 5), box)
    found = [value for begin in begins for value in range(begin, begin + length)]
    assert len(begins) == runs and found == wanted.reshape(-1).tolist()
    (tmp_path / "f").write_bytes(b"head" + all_values.astype(">f4").tobytes())
    for out in (np.empty(wanted.shape, ">f4"), np.empty(wanted.shape[::-1]).T):
        read_box(tmp_path / "f", 4, np.dtype(">f4"), (3, 4, 5), box, out)
        np.testing.assert_array_equal(out, wanted)


def test_values_that_change_their_type_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("pillion.datasets.file_arrays._BUFFER", 24)
    values = np.arange(3 * 7 * 5, dtype=np.int16).reshape(3, 7, 5)
    (tmp_path / "f").write_bytes(values.tobytes())
    out = np.empty((2, 7, 4))
    read_box(tmp_path / "f", 0, values.dtype, values.shape, ((1, 3), (0, 7), (1, 5)), out)
    np.testing.assert_array_equal(out, values[1:3, :, 1:5])
    with pytest.raises(Error, match="it has become shorter since it was looked at"):
        read_box(
            tmp_path / "f", 2, values.dtype, values.shape, ((1, 3), (0, 7), (0, 5)), out[:, :, :0]
        )
        read_box(
            tmp_path / "f",
            2,
            values.dtype,
            values.shape,
            ((2, 3), (6, 7), (0, 5)),
            np.empty((1, 1, 5)),
        )


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("int8", "xxxxx.x..."),
        ("uint8", "xxxx.xxxxx"),
        ("int16", "xxxx..x..."),
        ("uint16", "xxxx...xxx"),
        ("int32", "xx.x......"),
        ("uint32", ".x.x....xx"),
        ("int64", ".x........"),
        ("uint64", ".........x"),
        ("bool", "xxxxxxxxxx"),
        ("float32", "..xx......"),
        ("float64", "...x......"),
    ],
)
def test_what_fits_what(kind, row):
    types = ("int32", "int64", "float32", "float64")
    types += ("int8", "uint8", "int16", "uint16", "uint32", "uint64")
    assert "".join("x" if fits(np.dtype(kind), t) else "." for t in types) == row
    # As NumPy has it, nothing is lost either.
    assert all(np.can_cast(kind, t) for t, mark in zip(types, row) if mark == "x")


def grid(components: int, axes: int = 3) -> Field:
    return Field("speed", "grid", "uniform", "float32", components, (4, 5, 6)[:axes], True)


def particles(components: int) -> Field:
    return Field("place", "stars", "particles", "float64", components, (), True)


def stored(shape, fortran=False, dtype="float32") -> Stored:
    return Stored("a.npy", "<f4", np.dtype(dtype), tuple(shape), fortran=fortran)


@pytest.mark.parametrize(
    ("array", "field", "order", "axes"),
    [
        (stored((6, 5, 4)), grid(1), "zyx", [2, 1, 0]),
        (stored((6, 5, 4, 3)), grid(3), "zyx", [2, 1, 0, COMPONENTS]),
        (stored((4, 5, 6, 3)), grid(3), "xyz", [0, 1, 2, COMPONENTS]),
        (stored((6, 5, 4, 1)), grid(1), "zyx", [2, 1, 0, COMPONENTS]),
        (stored((5, 4)), grid(1, 2), "zyx", [1, 0]),
        (stored((4, 2)), grid(2, 1), "zyx", [0, COMPONENTS]),
        (stored((6, 5, 4, 3), True), grid(3), "zyx", [COMPONENTS, 0, 1, 2]),
        (stored((7, 3), True, "float64"), particles(3), "zyx", [COMPONENTS, 0]),
        *((stored((n,)), particles(1), "zyx", [0]) for n in (0, 1, 100)),
        *((stored((n, 3)), particles(3), "xyz", [0, COMPONENTS]) for n in (0, 1, 100)),
    ],
)
def test_dimensions_from_the_slowest_to_the_fastest(array, field, order, axes):
    extents = array.shape[::-1] if array.fortran else array.shape
    expected = [Dimension(axis, n) for axis, n in zip(axes, extents, strict=True)]
    assert arrange(array, field, order) == expected


@pytest.mark.parametrize(
    ("shape", "field", "order", "said"),
    [
        (
            (4, 5, 6),
            grid(1),
            "zyx",
            r"'a.npy' has shape \[4, 5, 6\], but field 'speed' on mesh 'grid' needs \[6, 5, 4\]; "
            "if it is indexed the other way, say --axes xyz",
        ),
        ((6, 5, 4, 3), grid(3), "xyz", r"needs \[4, 5, 6, 3\]; if .* say --axes zyx"),
        ((6, 5, 5), grid(1), "zyx", r"needs \[6, 5, 4\]; do the parameters say the right cells"),
        ((3, 6, 5, 4), grid(3), "zyx", r"needs \[6, 5, 4, 3\]"),
        ((6, 5, 4), grid(3), "zyx", r"needs \[6, 5, 4, 3\]"),
        ((), grid(1), "zyx", r"has shape \[\], but"),
        ((7,), particles(3), "zyx", r"needs \[n, 3\]"),
        ((7, 2), particles(1), "zyx", r"needs \[n\]"),
        ((), particles(1), "zyx", r"needs \[n\]"),
    ],
)
def test_another_shape_is_refused(shape, field, order, said):
    with pytest.raises(Error, match=said):
        arrange(stored(shape), field, order)


def test_numbers_that_would_lose_something_are_refused():
    said = "holds float64, but field 'speed' is declared float32, which would lose some of it"
    with pytest.raises(Error, match=said):
        arrange(stored((6, 5, 4), dtype="float64"), grid(1), "zyx")
    with pytest.raises(Error, match="values of type '<c16', which are not read"):
        arrange(Stored("a.npy", "<c16", None, (6, 5, 4)), grid(1), "zyx")


def head(dictionary: str, version: int = 1) -> bytes:
    """As NumPy writes it, padded to a multiple of 64 bytes."""
    begin = 10 if version == 1 else 12
    text = dictionary.ljust(-(-(begin + len(dictionary) + 1) // 64) * 64 - begin - 1) + "\n"
    length = len(text).to_bytes(begin - 8, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode()


def entries(kind: str, order: str, shape: str) -> str:
    return f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': ({shape}), }}"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_heads_of_npy_files(version):
    text = head(entries("'<f8'", "False", "3, 4, 5"), version)
    found = parse_head(text + b"values", F)
    assert (found.type, found.fortran, found.shape) == ("<f8", False, (3, 4, 5))
    assert found.offset == len(text) == head_size(text[:BEGIN], F)


def test_types_orders_and_shapes_in_heads():
    found = parse_head(head(entries("'>i4'", "True", "7,")), F)
    assert found.fortran and found.shape == (7,) and number_type(found.type) == np.dtype(">i4")
    assert parse_head(head(entries("'<f8'", "False", "")), F).shape == ()
    assert parse_head(head(entries("'<f8'", "False", "0, 3")), F).shape == (0, 3)
    for kind in ("<u8", "|b1", "|i1"):
        assert number_type(parse_head(head(entries(f"'{kind}'", "False", "2,")), F).type) == kind
    for odd in ("<c16", "<f2", "|S5", "|O", "<M8[ns]"):
        assert number_type(parse_head(head(entries(f"'{odd}'", "False", "2,")), F).type) is None
    records = "[('x', '<f8'), ('y', '<i4')]"
    assert parse_head(head(entries(records, "False", "2,")), F).type == "records"
    assert number_type("records") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"hello world, hello", "'f.npy' cannot be read as .npy: it does not begin"),
        (b"", "does not begin"),
        (head("{}"), "has no 'descr'"),
        (head("{'descr': '<f8', 'fortran_order': Perhaps, 'shape': (1,)}"), "no 'fortran_order'"),
        (head("{'descr': '<f8', 'fortran_order': True}"), "has no 'shape'"),
        (head(entries("'<f8'", "False", "99999999999999999999,")), "its shape is"),
        (head(entries("'<f8'", "False", "1,"), 9), "version 9"),
        (head(entries("'<f8'", "False", "1,"))[:30], "ends within its head"),
        (head(entries("'<f8'", "False", "1,"), 2)[:11] + b"\x7f", "its head has"),
    ],
)
def test_what_is_no_npy_file(text, said):
    with pytest.raises(Error, match=said):
        parse_head(text, F)


FIELDS = ("gas", "gas_2", "id")


@pytest.mark.parametrize(
    ("stem", "found"),
    [
        ("gas.000040", ("gas", 40)),
        ("gas_7", ("gas", 7)),
        ("gas-0", ("gas", 0)),
        ("gas", ("gas", 0)),
        ("gas_2", ("gas_2", 0)),
        ("gas_2.5", ("gas_2", 5)),
        *((odd, None) for odd in ("gas7", "gass.7", "12", "", "gas.99999999999999999999")),
    ],
)
def test_names_of_files_say_field_and_step(stem, found):
    assert field_at_step(stem, Names(FIELDS, {})) == found


def test_other_names_stand_in_the_place_of_the_fields_own():
    names = Names(FIELDS, {"gas": "rho", "id": "/PartType1/ParticleIDs"})
    assert field_at_step("rho.3", names) == ("gas", 3) and field_at_step("gas.3", names) is None
    for path in ("/PartType1/ParticleIDs", "PartType1/ParticleIDs"):
        assert names.field_of_dataset(path) == "id"
    assert names.field_of_dataset("PartType0/ParticleIDs") == ""
    assert names.field_of_dataset("/any/where/rho") == "gas"
    assert names.field_of_dataset("gas_2") == "gas_2" and names.name("gas") == "rho"
    with pytest.raises(Error, match="no field 'gs'; it has gas, gas_2, id"):
        Names(FIELDS, {"gs": "rho"})
    with pytest.raises(Error, match="taken by another field"):
        Names(FIELDS, {"gas": "id"})


def test_the_last_number_in_a_name():
    assert [last_number(name) for name in ("snap_0042", "run3.z7b", "5")] == [42, 7, 5]
    assert last_number("snap") is None is last_number("")


def found(field: str, step: int, path: str, time=None, dataset: str = "") -> Found:
    return Found(field, step, time, Stored(path, "<f8", None, (), dataset=dataset))


def frames(all_found, fields=("gas",), about=None, per_step=None, given=None):
    names = Names(FIELDS, given or {})
    return make_frames(all_found, fields, names, about or About(), per_step)


def test_frames_come_in_the_order_of_steps_with_the_fields_that_are_used():
    all_found = [found("gas", 100, "gas.100.npy"), found("id", 20, "id.20.npy")]
    all_found += [found("gas", 20, "gas.20.npy"), found("gas", 3, "gas.3.npy")]
    made = frames(all_found)
    assert [frame.step for frame in made] == [3, 20, 100] == [frame.time for frame in made]
    assert {name: of.path for name, of in made[1].fields.items()} == {"gas": "gas.20.npy"}
    assert frames([]) == []


def test_times_of_the_option_of_the_file_of_what_is_said_or_numbers_of_steps():
    both = [found("gas", 2, "a.h5", 0.5), found("gas", 4, "b.npy")]
    said = About(steps={2: AboutStep(0.25), 4: AboutStep(0.75)})
    assert [frame.time for frame in frames(both, about=said)] == [0.5, 0.75]
    assert [frame.time for frame in frames(both, per_step=0.1)] == [0.2, 0.4]
    with pytest.raises(Error, match="step 4 has no time, while other steps have"):
        frames(both)
    with pytest.raises(Error, match="step 1 has two times"):
        frames([found("gas", 1, "a.h5", 1.0), found("id", 1, "b.h5", 2.0)], ("gas", "id"))


def test_domains_of_a_step_go_before_those_of_all():
    def box(side: float) -> Domain:
        return Domain((0, 0, 0), (side, 1, 1), (0, 0, 0), (True, True, True), 0)

    about = About({}, {"stars": box(1), "gas": box(2)}, {7: AboutStep(7.0, {"stars": box(3)})})
    made = frames([found("id", 7, "a"), found("id", 8, "b")], ("id",), about, per_step=1)
    assert made[0].domains == {"stars": box(3), "gas": box(2)}
    assert made[1].domains["stars"] == box(1)


@pytest.mark.parametrize(
    ("one", "given", "said"),
    [
        (found("gas", 5, "s/gas.0005.npy"), {}, "missing at step 5: there is no 's/id.0005.npy'"),
        (found("gas", 5, "rho_5.npy"), {"gas": "rho", "id": "names"}, "no 'names_5.npy'"),
        (found("id", 5, "s/a.h5", None, "/x/id"), {}, "'s/a.h5' has no dataset 'gas'"),
    ],
)
def test_a_field_is_missed_by_the_name_that_its_file_should_have(one, given, said):
    with pytest.raises(Error, match=f"which analyses use, .*{said}"):
        frames([one], ("gas", "id"), given=given)


def test_a_field_that_is_there_twice_at_a_step():
    both = [found("gas", 5, "a/gas.5.npy"), found("gas", 5, "b/gas.05.npy")]
    said = "field 'gas' is there twice at step 5: in 'a/gas.5.npy' and in 'b/gas.05.npy'"
    with pytest.raises(Error, match=said):
        without_repeated(both)

# SPDX-License-Identifier: BSD-3-Clause
"""Reading compressed fields: the transform against another library's, the continuity average, which
must never add to the error, and what is said of files that are not what they should be."""

import os
import sys
import zlib

import h5py
import limits
import numpy as np
import pytest
from pillion.command import main
from pillion.compressed import codecs
from pillion.compressed import open as open_compressed
from pillion.compressed.average import Average, coincident
from pillion.compressed.basis import along_axes, basis_of, masses
from pillion.compressed.codecs import decoded
from pillion.errors import Error


@pytest.mark.parametrize("n", [2, 3, 6, 8, 11, 16])
def test_the_transform_is_that_of_pysemtools(n):
    coef = pytest.importorskip("pysemtools.datatypes.coef")
    v, inverse, _, points, weights = coef.get_transform_matrix(n, 3, apply_1d_operators=True)
    basis = basis_of(n)
    np.testing.assert_allclose(basis.points, points, atol=1e-14)
    np.testing.assert_allclose(basis.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(basis.to_values, v, atol=2e-14 * n)
    np.testing.assert_allclose(basis.to_legendre, inverse, atol=2e-14 * n)


def mesh(n: int, sides, twist: float) -> np.ndarray:
    """Coordinates (e, 3, n, n, n) of the unit cube's elements, of very different volumes."""
    corners = np.stack(np.meshgrid(*map(np.arange, sides), indexing="ij"), -1).reshape(-1, 3)
    t, s, r = np.meshgrid(*[basis_of(n).points] * 3, indexing="ij")
    local = (np.stack([r, s, t]) + 1) / 2
    x = (corners[:, :, None, None, None] + local) / np.array(sides)[:, None, None, None]
    bump = twist * np.prod(np.sin(np.pi * x), axis=1)
    return np.stack([x[:, 0] ** (1 + 2 * twist) + bump, x[:, 1] - bump, x[:, 2] + bump], axis=1)


def test_masses_are_volumes():
    assert masses(mesh(6, (3, 2, 2), 0.0)).sum() == pytest.approx(1, rel=1e-13)
    # A quadrature of this order is exact for the Jacobian of a map of degree 2.
    x = mesh(6, (2, 2, 2), 0.0)
    x[:, 0] += 0.3 * x[:, 1] * x[:, 2]
    x[:, 2] *= 1 + x[:, 0]
    fine = mesh(14, (2, 2, 2), 0.0)
    fine[:, 0] += 0.3 * fine[:, 1] * fine[:, 2]
    fine[:, 2] *= 1 + fine[:, 0]
    assert masses(x).sum() == pytest.approx(masses(fine).sum(), rel=1e-12)


@pytest.mark.parametrize("periods", [None, (1.0, 0, 0), (1.0, 1.0, 1.0)])
def test_points_that_coincide(periods):
    n, sides = 4, (3, 2, 4)
    places = coincident(mesh(n, sides, 0.0), periods)
    width = [
        side * (n - 1) + (0 if periods is not None and periods[axis] > 0 else 1)
        for axis, side in enumerate(sides)
    ]
    assert len(np.unique(places)) == np.prod(width) == places.max() + 1


@pytest.mark.parametrize("seed", range(6))
def test_the_average_never_adds_to_the_error(seed):
    """Whatever the error is, on elements however unlike; and not at all where there is none."""
    rng = np.random.default_rng(seed)
    x = mesh(5, (3, 3, 2), 0.15)
    average = Average(x)
    smooth = np.stack([np.sin(4 * x[:, 0] + x[:, 1]), x[:, 2] ** 3], axis=1)
    # What is the same in all elements to the bit.
    for c in range(2):
        by_place = np.zeros(average.places.max() + 1)
        by_place[average.places.ravel()] = smooth[:, c].ravel()
        smooth[:, c] = by_place[average.places]
    np.testing.assert_array_equal(average(smooth), smooth)
    # Errors of all sizes, or only where elements meet, or only in the smallest element.
    off = rng.normal(size=smooth.shape) * 10.0 ** rng.integers(-6, 3, smooth.shape)
    if seed % 3 == 1:
        off[:, :, 1:-1, 1:-1, 1:-1] = 0
    if seed % 3 == 2:
        off[np.arange(len(off)) != masses(x).sum(axis=(1, 2, 3)).argmin()] = 0
    after = average(smooth + off) - smooth
    weights = masses(x)[:, None]
    norm, norm_after = (np.sqrt((weights * e**2).sum()) for e in (off, after))
    assert norm_after <= norm * (1 + 1e-12)
    assert np.abs(after).max() <= np.abs(off).max() * (1 + 1e-12)
    assert norm_after < 0.999 * norm  # and it does something


def errors(rng, weights: np.ndarray, norm: str, kind: int) -> np.ndarray:
    """As large as a bound of 1 allows in each element, and where they show least or most."""
    off = rng.normal(size=weights.shape)
    if kind == 1:  # only where elements meet
        off[:, 1:-1, 1:-1, 1:-1] = 0
    if kind == 2:  # of one sign in an element
        off = np.abs(off) * np.sign(rng.normal(size=(len(off), 1, 1, 1)))
    if kind == 3:  # at a corner alone
        off[:] = 0
        off[:, 0, 0, 0] = rng.choice([-1.0, 1.0], len(off))
    inside = (1, 2, 3)
    if norm == "max":
        return off / np.abs(off).max(axis=inside, keepdims=True)
    mean = (weights * off**2).sum(axis=inside, keepdims=True)
    return off / np.sqrt(mean / weights.sum(axis=inside, keepdims=True))


@pytest.mark.parametrize("norm", ["rms", "max"])
@pytest.mark.parametrize("kind", range(4))
def test_a_continuous_field_is_never_taken_for_one_that_jumps(norm, kind):
    rng = np.random.default_rng(kind)
    for sides, periods in [((3, 3, 2), None), ((2, 1, 3), (1.0, 1.0, 1.0)), ((1, 1, 1), (1, 1, 1))]:
        x = mesh(5, sides, 0.15 if periods is None else 0.0)
        average, bound = Average(x, periods), 10.0 ** rng.integers(-6, 6)
        by_place = rng.normal(size=average.places.max() + 1)
        off = bound * errors(rng, average.weights, norm, kind)
        assert average.contradiction((by_place[average.places] + off)[:, None], norm, bound) == ""


@pytest.mark.parametrize("norm", ["rms", "max"])
def test_a_field_that_jumps_is_found_or_is_off_by_two_bounds_at_most(norm):
    """A field with jumps of any size at any element; and one with a single jump in a large mesh."""
    rng = np.random.default_rng(1)
    x = mesh(5, (3, 3, 3), 0.1)
    average, found = Average(x), 0
    for size in np.geomspace(0.1, 100, 30):
        jumps = size * rng.normal(size=(len(x), 1, 1, 1, 1)) * np.ones((1, 1, 5, 5, 5))
        read = jumps + errors(rng, average.weights, norm, int(rng.integers(4)))[:, None]
        if average.contradiction(read, norm, 1.0):
            found += 1
            continue
        off = (average(read) - jumps)[:, 0]
        weights = average.weights
        assert np.abs(off).max() <= 2 if norm == "max" else True
        assert np.sqrt((weights * off**2).sum() / weights.sum()) <= 2
    assert 10 <= found < 30
    long = Average(mesh(4, (200, 1, 1), 0.0))
    values = np.zeros((200, 1, 4, 4, 4))
    values[77] = 40
    reason = long.contradiction(values, norm, 1.0)
    assert "differ by 40" in reason if norm == "max" else "an element and its neighbours" in reason


def test_one_value_at_one_place():
    rng = np.random.default_rng(3)
    x = mesh(4, (2, 3, 2), 0.1)
    average = Average(x)
    out = average(rng.normal(size=(len(x), 1, 4, 4, 4)))
    by_place = np.zeros(average.places.max() + 1)
    by_place[average.places.ravel()] = out.ravel()
    np.testing.assert_array_equal(by_place[average.places], out[:, 0])
    np.testing.assert_allclose(average(out), out, rtol=1e-15)


def test_elements_of_either_hand_are_averaged_and_folded_ones_are_not():
    rng = np.random.default_rng(5)
    x, values = mesh(4, (2, 1, 1), 0.0), rng.normal(size=(2, 1, 4, 4, 4))
    together = Average(x)(values)
    assert (together != values).sum() == 32
    other_hand = x.copy()
    other_hand[1] = x[1, :, :, ::-1]
    turned = values.copy()
    turned[1] = values[1][:, :, ::-1]
    out = Average(other_hand)(turned)
    np.testing.assert_allclose(out[0], together[0], rtol=1e-14)
    np.testing.assert_allclose(out[1], together[1][:, :, ::-1], rtol=1e-14)
    folded = x.copy()
    folded[1, :, 1, 1, 1], folded[1, :, 1, 1, 2] = x[1, :, 1, 1, 2], x[1, :, 1, 1, 1]
    np.testing.assert_array_equal(Average(folded)(values), values)


def test_what_is_not_finite_stays():
    x, values = mesh(4, (2, 1, 1), 0.0), np.ones((2, 1, 4, 4, 4))
    values[0, 0, 2, 2, 3] = values[1, 0, 2, 2, 0] = np.inf
    values[1, 0, 1, 1, 0] = np.nan
    np.testing.assert_array_equal(Average(x)(values), values)


def test_along_axes():
    rng = np.random.default_rng(4)
    u, matrix = rng.normal(size=(2, 3, 5, 5, 5)), rng.normal(size=(5, 5))
    wanted = np.einsum("ai,bj,ck,evkji->evcba", matrix, matrix, matrix, u)
    np.testing.assert_allclose(along_axes(matrix, u), wanted, rtol=1e-12, atol=1e-12)


def test_what_is_no_compressed_file(tmp_path, capsys):
    with pytest.raises(Error, match="cannot read"):
        open_compressed(tmp_path / "none.h5")
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["x"] = [1]
    with pytest.raises(Error, match="was not written by the stage encode"):
        open_compressed(path)
    assert main(["decode", str(path)]) == 1
    assert "was not written by the stage encode" in capsys.readouterr().err
    with h5py.File(path, "a") as file:
        file.attrs["pillion_compressed"] = 2
    with pytest.raises(Error, match="newer version"):
        open_compressed(path)


@pytest.mark.parametrize("codec", ["zstd", "xz", "bzip2", "zip", "lz4"])
def test_damaged_bytes(codec):
    with pytest.raises(Error, match="damaged"):
        decoded(codec, b"no such thing", 100)
    with pytest.raises(Error, match="there is no code"):
        decoded(codec + "9", b"", 0)


@pytest.fixture
def by_sz3(tmp_path):
    """A file with a field on a uniform mesh, whose second half is not coded, and its values."""
    hdf5plugin = pytest.importorskip("hdf5plugin")
    values = np.sin(np.arange(2 * 8 * 7).reshape(1, 16, 7) / 30)
    path, half = tmp_path / "grid.h5", np.ascontiguousarray(values[0, :8])
    with h5py.File("box", "w", driver="core", backing_store=False) as file:
        how = hdf5plugin.SZ3(absolute=1e-3)
        dataset = file.create_dataset("box", data=half, chunks=half.shape, **how)
        dataset.flush()
        stream = dataset.id.read_direct_chunk((0, 0))[1]
    rest = values[0, 8:].tobytes()
    with h5py.File(path, "w") as file:
        head = {"pillion_compressed": 1, "step": 3, "time": 0.5, "time_units": "s"}
        file.attrs.update({**head, "mesh": "grid", "cells": [7.0, 16.0, 1.0]})
        file["u"] = np.frombuffer(stream + rest, np.uint8)
        boxes = {stream: [1, 0, 0, 0, 0, 7, 8, 1], rest: [0, 0, 0, 8, 0, 7, 16, 1]}
        file["u_pieces"] = [[len(b), *box, zlib.crc32(b)] for b, box in boxes.items()]
        about = {"type": "float64", "components": 1, "units": "m", "codec": "sz3", "norm": "max"}
        size = {"bound": 1e-3, "error": 1e-3, "raw_bytes": values.nbytes}
        file["u"].attrs.update({**about, **size})
    return path, values


def test_boxes_of_sz3(by_sz3, tmp_path):
    path, values = by_sz3
    found = open_compressed(path).read("u")
    assert found.dtype == values.dtype and 0 < np.abs(found - values).max() <= 1e-3
    np.testing.assert_array_equal(found[0, 8:], values[0, 8:])
    raw = tmp_path / "u.raw"
    assert main(["decode", str(path), "--field", "u", "--to", str(raw)]) == 0
    np.testing.assert_array_equal(np.fromfile(raw).reshape(values.shape), found)


@pytest.mark.parametrize("seed", range(30))
def test_damaged_files_are_refused(by_sz3, seed):
    """What comes of a damaged file is an Error, or what was written; never anything else."""
    path, _ = by_sz3
    wanted = open_compressed(path).read("u")
    rng = np.random.default_rng(seed)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    with h5py.File(path) as file:
        first, size = file["u"].id.get_offset(), file["u"].size
    # Some in the values, where nothing but the checksum tells; others anywhere.
    low, high = (first, first + size) if seed % 2 else (0, len(whole))
    damaged = whole.copy()
    for at in rng.integers(low, high, rng.integers(1, 4)):
        damaged[at] ^= 1 << rng.integers(8)
    if seed % 5 == 0:
        damaged = damaged[: rng.integers(len(whole))]
    path.write_bytes(damaged.tobytes())
    try:
        found = open_compressed(path).read("u")
    except Error as error:
        assert str(path) in str(error)
    else:
        assert seed % 2 == 0
        np.testing.assert_array_equal(found, wanted)


def test_sz3_where_hdf5_finds_the_plugin_itself(by_sz3, tmp_path):
    """As it is where the simulation was started, before h5py looks for filters."""
    hdf5plugin = pytest.importorskip("hdf5plugin")
    path, values = by_sz3
    code = (
        "import sys, h5py, numpy\nfrom pillion.compressed import open\n"
        f"h5py.h5z.filter_avail({hdf5plugin.SZ3_ID})\n"
        "numpy.save(sys.argv[2], open(sys.argv[1]).read('u'))\n"
    )
    there = {"HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "u.npy")]
    limits.run(command, env={**os.environ, **there}, check=True, timeout=60)
    assert np.abs(np.load(tmp_path / "u.npy") - values).max() <= 1e-3


def test_sz3_whose_filter_does_nothing(by_sz3, monkeypatch):
    """It serves another library, and numbers stay as they are."""
    monkeypatch.setattr(codecs, "_numbers_of", lambda dataset: (0,) * 9)
    with pytest.raises(Error, match="a separate program"):
        open_compressed(by_sz3[0]).read("u")


def test_sz3_without_its_package(by_sz3, monkeypatch):
    monkeypatch.setitem(sys.modules, "hdf5plugin", None)
    with pytest.raises(Error, match="pip install hdf5plugin"):
        open_compressed(by_sz3[0]).read("u")


def test_sz3_of_another_version(by_sz3, monkeypatch):
    monkeypatch.setattr(codecs, "_NUMBERS", (0,) * 7)  # which the plug-in does not take
    with pytest.raises(Error, match=r"needs version 3\.1, which hdf5plugin 7\.1 has; hdf5plugin"):
        open_compressed(by_sz3[0]).read("u")

# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion view` shows: slices of every level, what it says of a dataset, colours."""

import base64
import json

import numpy as np
import pillion.idx
import pytest
from idx_writer import write_dataset
from matplotlib import colormaps
from pillion.errors import Error
from pillion.view.page import colour_maps
from pillion.view.slices import Query, describe, read_slice
from view_sample import ABOUT, arrays, write


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("component", [0, 2, "magnitude"])
def test_slices_of_every_level(tmp_path, axis, component):
    """The plane is the nearest one below that the level has; what is in it are its samples."""
    dataset = pillion.idx.open(write(tmp_path))
    values = arrays(0)[0]
    values = (
        np.sqrt((values**2).sum(axis=-1)) if component == "magnitude" else values[..., component]
    )
    u, v = [a for a in range(3) if a != axis]
    window = [(1, 6), (2, 6)]
    for level in range(10):
        for position in range(dataset.box[axis][1]):
            found = read_slice(dataset, Query("f0", component, 0, level, axis, position, window))
            stride = dataset.stride(level)
            assert found.position == position // stride[axis] * stride[axis]
            whole = np.moveaxis(values, 2 - axis, 0)[found.position]
            picks = [
                [c for c in range(lo, hi) if c % stride[a] == 0]
                for a, (lo, hi) in zip((u, v), window, strict=True)
            ]
            wanted = whole[np.ix_(picks[1], picks[0])]
            assert found.values.size == wanted.size
            if wanted.size:
                assert found.origin == (picks[0][0], picks[1][0])
                assert found.stride == (stride[u], stride[v])
                np.testing.assert_array_equal(found.values, wanted.astype("<f4"), strict=True)


def test_slices_of_what_is_flat(tmp_path):
    values = arrays()[1]
    plane, line = values[:1], values[:1, :1]
    about = {"bits_per_block": 2, "per_file": 2}
    for array, mask, axes in ((plane, "V010101", 2), (line, "V000", 1)):
        path = write_dataset(tmp_path / str(axes), "d", {0: [array]}, mask=mask, **about)
        text = path.read_text().replace("0 7 0 6 0 0", "0 7 0 6").replace("0 7 0 0 0 0", "0 7")
        path.write_text(text)
        dataset = pillion.idx.open(path)
        assert dataset.axes == axes
        window = dataset.box
        found = read_slice(dataset, Query("f0", 0, 0, dataset.levels, 0, 0, window))
        np.testing.assert_array_equal(found.values, array[0, :, :, 0])
        found = read_slice(dataset, Query("f0", 0, 0, 0, 0, 0, window))
        assert found.values.shape == (1, 1)


def test_a_level_without_a_plane_in_the_box(tmp_path):
    path = write_dataset(tmp_path, "d", {0: [a[1:2] for a in arrays()]}, **ABOUT, low=(0, 0, 1))
    dataset = pillion.idx.open(path)
    query = ("f1", 0, 0)
    assert read_slice(dataset, Query(*query, 3, 2, 1, ((0, 8), (0, 7)))).values.size == 0
    found = read_slice(dataset, Query(*query, 9, 2, 1, ((0, 8), (0, 7))))
    np.testing.assert_array_equal(found.values, arrays()[1][1, :, :, 0])


def test_too_much_at_once(tmp_path, monkeypatch):
    dataset = pillion.idx.open(write(tmp_path))
    monkeypatch.setattr("pillion.view.slices.MOST_SAMPLES", 50)
    with pytest.raises(Error, match="ask for a coarser level"):
        read_slice(dataset, Query("f1", 0, 0, 9, 2, 0, ((0, 8), (0, 7))))
    read_slice(dataset, Query("f1", 0, 0, 8, 2, 0, ((0, 7), (0, 3))))


HEAD = "# analysis: a\n# stage: write\n"


@pytest.mark.parametrize(
    "origin",
    [
        "",
        f"{HEAD}# columns: 3\n# times: [1]\n",
        f"{HEAD}# columns: [3, {{units: m}}]\n# times: [1, a]\n",
        f'{HEAD}# configuration: "a: ["\n# times: [1, .nan]\n',
        f'{HEAD}# configuration: "fields: [1]\\nmeshes: {{cube: 3}}"\n',
        f'{HEAD}# configuration: "fields: {{f0: {{mesh: cube}}, f1: 7}}"\n',
    ],
)
def test_a_dataset_that_says_little(tmp_path, origin):
    path = write(tmp_path, origin=origin)
    found = describe(pillion.idx.open(path))
    assert (pillion.idx.open(path).origin is None) == (origin == "")
    assert found["times"] is None
    assert found["length_units"] == found["time_units"] == ""
    assert [field["units"] for field in found["fields"]] == ["", ""]
    json.dumps(found, allow_nan=False)


def test_units_from_the_configuration_of_the_run(tmp_path):
    configuration = {
        "meshes": {"cube": {"kind": "uniform", "cells": ["$n"], "units": "Mpc"}},
        "fields": {"f1": {"mesh": "cube", "type": "int32", "units": "K"}},
    }
    text = json.dumps(json.dumps(configuration))
    origin = f"{HEAD}# title: T\n# time_units: s\n# configuration: {text}\n"
    found = describe(pillion.idx.open(write(tmp_path, origin=origin)))
    assert [field["units"] for field in found["fields"]] == ["", "K"]
    assert (found["length_units"], found["time_units"], found["title"]) == ("Mpc", "s", "T")


def decoded_colour_maps():
    return {
        name: np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, 3)
        for name, text in colour_maps().items()
    }


def test_colours():
    maps = decoded_colour_maps()
    assert all(rgb.shape == (256, 3) for rgb in maps.values())
    weights = np.array([0.2126, 0.7152, 0.0722])
    for name, rgb in maps.items():
        light = (rgb / 255.0) ** 2.2 @ weights
        if name == "coolwarm":
            continue
        if name != "blue to red":
            assert (np.diff(light) > -0.002).all(), name
            continue
        assert (np.diff(light[:128]) > 0).all() and (np.diff(light[128:]) < 0).all()
        np.testing.assert_allclose(light[:128], light[:127:-1], atol=0.04)
        assert rgb[0, 2] > 1.5 * rgb[0, 0] and rgb[-1, 0] > 1.5 * rgb[-1, 2]
        assert np.ptp(rgb[127].astype(int)) < 8


def test_colour_maps_are_those_of_their_sources():
    """Matplotlib's tables; the others have even steps of OKLab's lightness and chroma, whose
    matrices Ottosson gives from linear sRGB.
    """
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    oklab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    maps = decoded_colour_maps()
    for name, rgb in maps.items():
        if name in ("grey", "blue to red"):
            linear = np.where(rgb > 10, ((rgb / 255 + 0.055) / 1.055) ** 2.4, rgb / 255 / 12.92)
            light, a, b = np.array(oklab) @ np.cbrt(np.array(cones) @ linear.T)
            away = np.abs(np.linspace(-1, 1, 256)) if name == "blue to red" else 0 * light
            wanted = 0.97 - 0.59 * away if name == "blue to red" else np.linspace(0.08, 1, 256)
            np.testing.assert_allclose(light, wanted, atol=0.02)
            np.testing.assert_allclose(np.hypot(a, b), 0.125 * away, atol=0.01)
        else:
            of_matplotlib = 255 * colormaps[name](np.arange(256))[:, :3]
            np.testing.assert_allclose(rgb, of_matplotlib, atol=0.5 + 1e-9)

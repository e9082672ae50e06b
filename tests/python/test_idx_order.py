# SPDX-License-Identifier: BSD-3-Clause
"""Addresses and blocks of whole arrays of samples are what the definition says bit by bit."""

import idx_writer
import numpy as np
import pytest
from pillion.errors import Error
from pillion.idx.bitmask import Bitmask, level_of
from pillion.idx.blocks import blocks_of_level, first_block, order_of_block
from pillion.idx.grid import Grid, grid_within, overlap

MASKS = ["V", "V0", "V00011", "V0120120121", "V2101210", "V22110", "V111000222"]


def all_points(mask):
    return [tuple(p) for p in mask.points(np.arange(1 << mask.bits)).tolist()]


@pytest.mark.parametrize("text", MASKS)
def test_addresses(text):
    mask = Bitmask.parse(text)
    assert str(mask) == text
    points = all_points(mask)
    assert sorted(points) == [
        (x, y, z)
        for x in range(mask.extents[0])
        for y in range(mask.extents[1])
        for z in range(mask.extents[2])
    ]
    z = np.arange(len(points))
    wanted = [idx_writer.address(text, point) for point in points]
    assert mask.hz_of(z).tolist() == wanted
    assert sorted(wanted) == z.tolist()
    assert mask.z_of(np.array(wanted)).tolist() == z.tolist()
    grid = mask.z_addresses(*(np.arange(extent) for extent in mask.extents))
    assert all(grid[c, b, a] == n for n, (a, b, c) in enumerate(points))


def test_addresses_of_many_bits():
    rng = np.random.default_rng(3)
    text = "V" + "".join(rng.choice(list("012"), 60))
    mask = Bitmask.parse(text)
    z = rng.integers(0, 1 << 60, 500)
    hz = mask.hz_of(z)
    assert hz.tolist() == [idx_writer.address(text, p) for p in mask.points(z).tolist()]
    assert mask.z_of(hz).tolist() == z.tolist()


def test_levels():
    hz = np.array([0, 1, 2, 3, 4, 7, 8, 2**32 - 1, 2**32, 2**61, 2**62 - 1])
    assert level_of(hz).tolist() == [int(n).bit_length() for n in hz]


@pytest.mark.parametrize("text", MASKS)
def test_strides(text):
    """All samples of the levels up to one, and no other, are at multiples of its strides."""
    mask = Bitmask.parse(text)
    for level in range(mask.bits + 1):
        stride = mask.stride(level)
        for point in all_points(mask):
            there = idx_writer.level(idx_writer.address(text, point)) <= level
            assert there == all(c % s == 0 for c, s in zip(point, stride, strict=True))


@pytest.mark.parametrize("text", MASKS[2:])
@pytest.mark.parametrize("bits_per_block", [1, 2, 4])
def test_blocks(text, bits_per_block):
    """Grids of blocks, and the places in them, find the address of every sample of a box."""
    mask = Bitmask.parse(text)
    rng = np.random.default_rng(len(text))
    for _ in range(6):
        box = tuple(tuple(sorted(rng.choice(n + 1, 2, replace=False))) for n in mask.extents)
        box = tuple((int(lo), int(hi)) for lo, hi in box)
        wanted, found = set(), set()
        for point in all_points(mask):
            if all(lo <= c < hi for c, (lo, hi) in zip(point, box, strict=True)):
                wanted.add(idx_writer.address(text, point))
        grids = {0: (first_block(mask, bits_per_block), 0)}
        for level in range(bits_per_block + 1, mask.bits + 1):
            of_level = dict(blocks_of_level(mask, bits_per_block, level, box))
            grids |= {number: (grid, level) for number, grid in of_level.items()}
        needed = {address >> bits_per_block for address in wanted}
        assert set(grids) - {0} == needed - {0}
        for number, (grid, level) in grids.items():
            places = order_of_block(mask, bits_per_block, level)
            assert places.shape == grid.shape
            both = overlap(grid, grid_within(box, (1, 1, 1)))
            if both is not None:
                found |= set((places[both[0]].ravel() + (number << bits_per_block)).tolist())
        assert found == wanted


def test_overlaps_of_grids():
    rng = np.random.default_rng(5)

    def random_grid():
        stride = tuple(int(s) for s in 2 ** rng.integers(0, 3, 3))
        box = tuple(tuple(sorted(rng.integers(0, 20, 2).tolist())) for _ in range(3))
        return grid_within(box, stride)

    def samples(grid, part=(slice(None),) * 3):
        axes = [o + s * np.arange(n) for o, n, s in zip(grid.origin, grid.extent, grid.stride)]
        picked = [axis[k] for axis, k in zip(axes, part[::-1])]
        return {(x, y, z) for x in picked[0] for y in picked[1] for z in picked[2]}

    empty = 0
    for _ in range(300):
        a, b = random_grid(), random_grid()
        both = overlap(a, b)
        wanted = samples(a) & samples(b)
        if both is None:
            empty += 1
            assert not wanted
        else:
            assert samples(a, both[0]) == samples(b, both[1]) == wanted != set()
    assert 0 < empty < 300


def test_a_grid_within_a_box():
    assert grid_within(((3, 9), (0, 1), (4, 4)), (4, 2, 1)) == Grid((4, 0, 4), (2, 1, 0), (4, 2, 1))


@pytest.mark.parametrize("text", ["", "012", "V013", "V01 2", "V" + "0" * 63])
def test_what_is_no_bitmask(text):
    with pytest.raises(Error, match="a bitmask is V"):
        Bitmask.parse(text)

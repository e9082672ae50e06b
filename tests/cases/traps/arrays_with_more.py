# SPDX-License-Identifier: BSD-3-Clause
"""Masks, units and names of axes that come with an array are used or refused."""

import numpy as np
import pillion
import xarray as xr
from cases import session_of

TEXT = """\
output: {path: results, if_exists: overwrite}
meshes: {box: {kind: uniform, cells: [3, 4, 5], length: [1, 1, 1]}}
fields: {u: {mesh: box, type: float64, units: K}, w: {mesh: box, type: float64}}
analyses: {a: {every: 1 steps, stages: [write_raw: {fields: [u]}]}}
"""
VALUES = np.arange(60.0).reshape(3, 4, 5)


def written(array):
    """What is in the file of a run that shared an array, or why it was refused."""
    session = session_of(TEXT)
    try:
        session.share("u", array)
        session.step(0, 0.0)
    except pillion.Error as error:
        return str(error)
    finally:
        session.close_or_warn()
    return np.asarray(pillion.results("results")["a/box"]["u"])[0].T


class WithUnit(np.ndarray):
    """As Astropy and unyt have them."""

    unit = "degC"


cube = xr.DataArray(np.ascontiguousarray(VALUES.T), dims=("z", "y", "x"))
assert np.array_equal(written(cube), VALUES)  # axes by their names, not by their places
assert np.array_equal(written(xr.DataArray(VALUES, dims=("a", "b", "c"))), VALUES)
assert np.array_equal(written(cube.assign_attrs(units="K")), VALUES)
assert "in K" in written(cube.assign_attrs(units="degC")), written(cube.assign_attrs(units="degC"))
assert "in degC" in written(VALUES.view(WithUnit))
assert "axes x, y, t" in written(xr.DataArray(VALUES, dims=("x", "y", "t")))
hidden = np.ma.masked_greater(VALUES, 57)
assert "2 of 60 values are masked" in written(hidden), written(hidden)
assert np.array_equal(written(np.ma.array(VALUES)), VALUES)
assert "byte order" in written(VALUES.astype(">f8"))
assert isinstance(written([["a"]]), str)

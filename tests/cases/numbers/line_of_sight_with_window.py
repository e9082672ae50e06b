# SPDX-License-Identifier: BSD-3-Clause
"""Spectra of the lines along an axis undo the window of that axis alone."""

import numpy as np
import pillion
from cases import session_of

TEXT = """\
output: results
meshes: {g: {kind: uniform, cells: [16, 12, 10], length: [1, 3, 2], periodic: true}}
fields: {f: {mesh: g, type: float64}, h: {mesh: g, type: float64}}
analyses:
  none: {stages: [power_spectrum: {field: f, line_of_sight: [0, 1, 2]}]}
  cic: {stages: [power_spectrum: {field: f, window: cic, line_of_sight: [0, 1, 2]}]}
  cross:
    stages: [power_spectrum: {field: f, with: h, window: tsc, with_window: ngp, line_of_sight: [1]}]
"""
rng = np.random.default_rng(0)
f, h = (rng.lognormal(size=(16, 12, 10)) for _ in range(2))
with session_of(TEXT) as session:
    session.share("f", f)
    session.share("h", h)
    session.step(0, 0.0)


def lines(axis, power, other=f):
    cells, length = f.shape[axis], (1, 3, 2)[axis]
    a, b = (np.fft.rfft(g / g.mean() - 1, axis=axis) / cells for g in (f, other))
    across = tuple(d for d in range(3) if d != axis)
    found = (a * b.conj()).real.mean(across)[1:] * length
    return found / np.sinc(np.arange(1, cells // 2 + 1) / cells) ** power


def table(analysis, axis, field="f"):
    path = f"results/{analysis}/power_spectrum_{field}_axis_{axis}.000000000.csv"
    return pillion.read_table(path)


for axis in range(3):
    np.testing.assert_allclose(table("none", axis)["power"], lines(axis, 0), rtol=1e-10)
    np.testing.assert_allclose(table("cic", axis)["power"], lines(axis, 4), rtol=1e-10)
np.testing.assert_allclose(table("cross", 1, "f_h")["power"], lines(1, 4, h), rtol=1e-9)
assert table("cic", 0).attributes["window_along_lines"].value == "cic"
assert table("none", 0).attributes["window_along_lines"].value == "none"

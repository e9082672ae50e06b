# SPDX-License-Identifier: BSD-3-Clause
"""An axis of one cell has no waves, wherever it stands: the spectrum is that of the plane."""

import numpy as np
import pillion
from cases import refusal_of, session_of

TEXT = """\
output: results_NAME
meshes:
  m: {kind: uniform, cells: CELLS, length: LENGTH, periodic: [PERIODIC], units: m}
fields: {t: {mesh: m, type: float64}}
analyses: {a: {stages: [power_spectrum: {field: tMORE}]}}
"""
PLANE = 1 + np.random.default_rng(0).random((64, 48))


def text(name, cells, length, more=""):
    # The side walls of a flat box need not be periodic.
    periodic = ", ".join("false" if n == 1 else "true" for n in cells)
    out = TEXT.replace("NAME", name).replace("CELLS", str(cells)).replace("LENGTH", str(length))
    return out.replace("PERIODIC", periodic).replace("MORE", more)


def spectrum(name, cells, length):
    with session_of(text(name, cells, length)) as session:
        session.share("t", np.ascontiguousarray(PLANE.reshape(cells)))
        session.step(0, 0.0)
    return pillion.read_table(f"results_{name}/a/power_spectrum_t.000000000.csv")


plane = spectrum("plane", [64, 48], [1, 1])
assert abs(plane.attributes["k_nyquist"].value - np.pi * 48) < 1e-9
k, power = plane["k"], plane["power"]
np.testing.assert_allclose(plane["dimensionless"], k**2 * power / (2 * np.pi), rtol=1e-12)
for name, cells, length in (
    ("last", [64, 48, 1], [1, 1, 7]),
    ("middle", [64, 1, 48], [1, 0.1, 1]),
    ("first", [1, 64, 48], [40, 1, 1]),
):
    flat = spectrum(name, cells, length)
    for column in ("k", "power", "error", "dimensionless", "modes"):
        np.testing.assert_allclose(flat[column], plane[column], rtol=1e-11, err_msg=name)
    for attribute in ("k_nyquist", "variance", "modes_in_no_shell"):
        found = flat.attributes[attribute].value
        assert abs(found / plane.attributes[attribute].value - 1) < 1e-11, (name, attribute)
why = refusal_of(text("refused", [64, 48, 1], [1, 1, 7], ", line_of_sight: [2]"))
assert "one cell along axis 2" in why, why
# Modes that shells leave out are counted: those with a longer wave vector than the last edge.
kx, ky = np.meshgrid(np.fft.fftfreq(64, 1 / 64), np.fft.fftfreq(48, 1 / 48), indexing="ij")
beyond = np.hypot(kx, ky).ravel() * 2 * np.pi >= plane["k_upper"][-1]
assert plane.attributes["modes_in_no_shell"].value == beyond.sum(), beyond.sum()

# SPDX-License-Identifier: BSD-3-Clause
"""Products for the tests of `pillion.results`, and NumPy's own reading of them."""

import numpy as np
from sample import table_text


def put(folder, name, columns, *, step=None, attributes=(), stage="profile", **more):
    """A table `ANALYSIS/NAME`, of a step if that is said; columns are (name, units, values)."""
    analysis, _, own = name.partition("/")
    path = folder / analysis / (f"{own}.csv" if step is None else f"{own}.{step:09}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"title": own.replace("_", " "), "analysis": analysis, "stage": stage, "name": own}
    moment = {} if step is None else {"step": step, "time": 0.5 * step}
    text = table_text(**about, columns=columns, attributes=attributes, **moment, **more)
    aside = path.with_name(f".{path.name}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
    return path


def numpy_reads(path):
    """Columns by name, as NumPy reads the file."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return np.atleast_1d(np.genfromtxt(lines, delimiter=",", names=True, deletechars=""))


def profile(step, points=5, begin=0.0):
    x = begin + 0.25 * np.arange(points)
    return [
        ("r", "Å", x),
        ("r_reduced", "", x / 3),
        ("density", "1/Å^3", np.sin(x + step) / 3),
        ("count", "", np.arange(points) + 10 * step),
    ]


def things(step, count):
    rng = np.random.default_rng(step)
    return [
        ("id", "", rng.permutation(100)[:count].astype(np.int64)),
        ("mass", "kg", rng.random(count)),
        ("x", "m", rng.random(count)),
    ]

# SPDX-License-Identifier: BSD-3-Clause
"""A program that goes on with another array hears of it; one that does not, does not."""

import warnings

import numpy as np
from cases import session_of

TEXT = """\
output: {path: results, if_exists: overwrite}
meshes: {box: {kind: uniform, cells: [16, 8], length: [2, 1]}}
fields:
  u: {mesh: box, type: float64}
  v: {mesh: box, type: float64, components: 2}
  mask: {mesh: box, type: uint8, constant: true}
analyses: {a: {every: 1 steps, stages: [statistics: {fields: [u, v, mask]}]}}
"""


def told(step, share=lambda a: a):
    """Fields that a run is warned of: `step` makes the next array of `u` from the last one."""
    state = {"u": np.zeros((18, 10))}
    apart = [np.zeros((16, 8)), np.zeros((16, 8))]
    with warnings.catch_warnings(record=True) as caught, session_of(TEXT) as session:
        warnings.simplefilter("always")
        session.share("u", share(state["u"]), ghosts=1)
        session.share("v", apart)
        session.share("mask", np.ones((16, 8), bool))
        for k in range(9):
            session.step(k, float(k))
            step(state)
            apart[0] += 1
    texts = [str(one.message) for one in caught]
    assert all("no longer used" in text for text in texts), texts
    return [text.split("'")[1] for text in texts]


def in_place(state):
    state["u"][...] = state["u"] + 1


def rebind(state):
    state["u"] = state["u"] + 1


def copies_each_time():
    """What a program hears that shares a copy whenever a step is due."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with session_of(TEXT.replace("1 steps", "3 steps")) as session:
            values = np.zeros((16, 8))
            for k in range(30):
                if session.is_due(k, float(k)):
                    session.share("u", values.copy())
                    session.share("v", [values.copy(), values.copy()])
                    session.share("mask", np.ones((16, 8), bool))
                session.step(k, float(k))
    return [str(one.message) for one in caught]


assert copies_each_time() == [], copies_each_time()
assert told(in_place) == [], told(in_place)
assert told(in_place, share=lambda a: a[:]) == []
assert told(rebind) == ["u"], told(rebind)
assert told(rebind, share=lambda a: a[:]) == ["u"]
assert told(rebind, share=lambda a: a.T[:, :].T) == ["u"]

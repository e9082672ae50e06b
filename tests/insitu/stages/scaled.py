# SPDX-License-Identifier: BSD-3-Clause
"""A stage in Python that uses scalars of the simulation."""

import pillion


@pillion.stage("height")
def scaled(step):
    """The largest height times the scale factor, a row of a table over time."""
    largest = max((float(b["height"].max()) for b in step.blocks if b.count), default=-1.0)
    assert set(step.scalars) == {"a", "dt"} and step.units("dt") == "Gyr"
    return {"scaled": step.max(largest) * step.scalars["a"]}

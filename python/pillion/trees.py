# SPDX-License-Identifier: BSD-3-Clause
"""Merge trees that the stage `halos` kept, asked for halos at thresholds that were not thought of
when the simulation ran. stages/halos/README.md defines tree and halos.
"""

from dataclasses import dataclass

import numpy as np

from pillion.errors import Error
from pillion.tables import Table

NEEDED = ("id", "peak", "saddle")


@dataclass(frozen=True)
class Thresholds:
    """A halo is a connected region of at least `boundary` in which `peak` is reached, both in
    units of the field, or, if `relative`, of its mean.
    """

    boundary: float
    peak: float
    relative: bool = True

    def of(self, tree: Table) -> tuple[float, float]:
        """In the field's units. Raises Error if the mean is needed and not there."""
        if not self.relative:
            return self.boundary, self.peak
        mean = tree.attributes.get("mean")
        if mean is None or isinstance(mean.value, str):
            raise Error(f"{tree.path} does not say the field's mean; ask with --absolute")
        return self.boundary * mean.value, self.peak * mean.value


def halos_of(tree: Table, thresholds: Thresholds) -> np.ndarray:
    """Rows of the tree that are halos, the highest peak first: for each region, its maximum.

    Raises Error if the table is not a merge tree.
    """
    if missing := [name for name in NEEDED if name not in tree.columns]:
        raise Error(
            f"{tree.path} is not a merge tree: it has no column {missing[0]}. "
            "The stage `halos` writes one with `keep_tree: true`"
        )
    boundary, peak = thresholds.of(tree)
    begins = tree["peak"] >= max(boundary, peak)
    ends = tree["saddle"] >= boundary  # where it is part of a region with a higher maximum
    rows = np.flatnonzero(begins & ~ends)
    return rows[np.argsort(-tree["peak"][rows], kind="stable")]

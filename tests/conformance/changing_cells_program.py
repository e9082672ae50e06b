# SPDX-License-Identifier: BSD-3-Clause
"""A simulation on squares that are refined, have the ids of others, or have none, by its argument,
from step 3 on. `cells` is what it shares at a step."""

import sys

import numpy as np

STEPS, CHANGE = 6, 3
CHILDREN = 100  # the first id of a refined cell's parts


def cells(how: str, step: int) -> list[tuple[int, float, float, float]]:
    """Id, lower corner and side of each."""
    coarse = [(i + 4 * j, i / 4, j / 4, 1 / 4) for j in range(4) for i in range(4)]
    if step < CHANGE or how in ("still", "nameless"):
        return coarse
    if how in ("refine", "lost"):
        parts = [(CHILDREN + i + 2 * j, i / 8, j / 8, 1 / 8) for j in range(2) for i in range(2)]
        return coarse[1:] + parts
    if how == "child":  # one of the parts keeps the id of the whole
        parts = [(CHILDREN * (i + 2 * j), i / 8, j / 8, 1 / 8) for j in range(2) for i in range(2)]
        return coarse[1:] + parts
    if how == "reuse":  # as many ids as before, of other cells
        return [(15 - n, x, y, side) for n, x, y, side in coarse]
    if how == "move":  # a body that turns is the same body
        return [(n, x + 0.2 * step, y, side) for n, x, y, side in coarse]
    raise ValueError(how)


def value(ids: np.ndarray, step: int) -> np.ndarray:
    return np.sin(ids * 1.7 + step) + ids


def main(how: str) -> None:
    import pillion

    with pillion.open("run.yaml") as session:
        rank, ranks = session.communicator.rank, session.communicator.size
        for step in range(STEPS):
            has_ids = how not in ("nameless", "lost")
            turn = step // 2 if has_ids else 0  # without ids cells have to stay
            mine = cells(how, step)[(rank + turn) % ranks :: ranks]
            corners = [[(x, y), (x + s, y), (x + s, y + s), (x, y + s)] for _, x, y, s in mine]
            ids = np.array([cell[0] for cell in mine], np.int64)
            places = np.array(corners).reshape(-1, 2)
            session.share_points("m", np.c_[places, np.zeros(len(places))])
            session.share_cells(
                "m",
                points=np.arange(4 * len(mine)),
                offsets=4 * np.arange(len(mine) + 1),
                types=np.full(len(mine), 9, np.uint8),
                ids=ids if has_ids else None,
            )
            u = value(ids, step)
            session.share("u", u)
            session.step(step, float(step))


if __name__ == "__main__":
    main(sys.argv[1])

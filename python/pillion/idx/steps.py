# SPDX-License-Identifier: BSD-3-Clause
"""The time steps of an IDX dataset, and the folders that their files are in."""

import re
from dataclasses import dataclass

from pillion.errors import Error

MOST = 10_000_000
RANGE = re.compile(r"\(\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True)
class Steps:
    """Numbers in increasing order, and a template such as "time%06d/"."""

    numbers: tuple[int, ...]
    folder: str

    def folder_of(self, step: int) -> str:
        """The template with the step in it, as printf would have it."""
        return re.sub(r"%(0?)(\d*)d", lambda m: f"{step:{m[1]}{m[2]}d}", self.folder, count=1)


def read_steps(text: str) -> Steps:
    """Of "FIRST LAST FOLDER", or "FOLDER (A,B,STEP) …" with those two in front or not.

    Without text there is step 0 alone, and no folder.
    """
    if not text:
        return Steps((0,), "")
    ranges = [(int(a), int(b), int(step)) for a, b, step in RANGE.findall(text)]
    words = RANGE.sub("", text).split()
    if len(words) == 3 and all(re.fullmatch(r"-?\d+", word) for word in words[:2]):
        ranges = ranges or [(int(words[0]), int(words[1]), 1)]
    elif len(words) != 1 or not ranges:
        raise Error(f"(time) makes no sense: {text}")
    for first, last, step in ranges:
        if step < 1 or last < first or (last - first) // step >= MOST:
            raise Error(f"(time) has a range that makes no sense: {text}")
    numbers = {n for first, last, step in ranges for n in range(first, last + 1, step)}
    return Steps(tuple(sorted(numbers)), words[-1])

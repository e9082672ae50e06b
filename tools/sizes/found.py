# SPDX-License-Identifier: BSD-3-Clause
"""What a measure finds: a rule, a place and a number."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Found:
    """More than a rule allows, or as much as it allows."""

    rule: str
    place: str  # a file, with the name of a class or function after a colon; no blanks
    number: int
    line: int = 0

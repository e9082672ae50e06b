# SPDX-License-Identifier: BSD-3-Clause
"""Measures of the source code, for tools/check_sizes.py. What each of them finds is a rule, a place
and a number.
"""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Found:
    """A number of a place, whether the rule allows it or not."""

    rule: str
    place: str  # a file, with the name of a class or function after a colon; no blanks
    number: int
    line: int = 0

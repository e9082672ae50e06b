# SPDX-License-Identifier: BSD-3-Clause
"""Steps in names of files: nine digits or more, or, below 0, a sign and eight or more, as both
`%09d` and `{:09}` write them."""

import re

STEP = r"(\d{9,}|-\d{8,})"


def step_pattern(before: str, after: str) -> re.Pattern[str]:
    """For names with a step between two patterns. The step is the last group of `before` plus 1."""
    return re.compile(f"{before}{STEP}{after}")


def has_step(stem: str) -> bool:
    """Whether a name without its ending is that of a product of one step."""
    return re.fullmatch(rf".+\.{STEP}", stem, re.DOTALL) is not None


def without_step(stem: str) -> str:
    return re.sub(rf"\.{STEP}(?!\d)", "", stem)

# SPDX-License-Identifier: BSD-3-Clause
"""Memory for publications in flight, as configurations write it. Pure."""

import re
from dataclasses import dataclass

from pillion.errors import Error

_BYTES = re.compile(r"\s*([\d.]+)\s*((?:[KMGT]i?)?B|)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Memory:
    """Bytes for publications on every node, how many nodes there are, and what happens when they
    are used up.
    """

    budget: float = 256 * 2.0**20
    nodes: int = 1
    when_full: str = "wait"

    @property
    def waits(self) -> bool:
        return self.when_full not in ("skip", "coarsen")


def bytes_of(text: str) -> float:
    """Of `512 MiB`, `2 GB`; raises Error for what is no amount of memory."""
    match = _BYTES.fullmatch(text)
    if not match:
        raise Error(f"'{text}' is no amount of memory such as 512 MiB")
    power = "BKMGT".index((match[2] or "B")[0].upper())
    return float(match[1]) * (1024 if "i" in match[2] else 1000) ** power

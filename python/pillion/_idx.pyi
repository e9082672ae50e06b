# SPDX-License-Identifier: BSD-3-Clause
"""Multiresolution datasets; use pillion.idx."""

from collections.abc import Sequence
from typing import Annotated

from numpy.typing import NDArray

class Field:
    """A field, as the header describes it."""

    @property
    def name(self) -> str: ...
    @property
    def components(self) -> int: ...
    @property
    def type(self) -> str: ...

class Reader:
    """A dataset as its header describes it."""

    def __init__(self, path: str, text: str) -> None:
        """Of the header's text. Raises Error if it makes no sense."""

    @property
    def fields(self) -> list[Field]: ...
    @property
    def axes(self) -> int: ...
    @property
    def lo(self) -> tuple[int, int, int]: ...
    @property
    def hi(self) -> tuple[int, int, int]: ...
    @property
    def steps(self) -> list[int]: ...
    @property
    def finest(self) -> int: ...
    @property
    def left_out(self) -> int: ...
    @property
    def bits_per_block(self) -> int: ...
    @property
    def physical_box(self) -> list[float] | None:
        """lower and upper edge of each axis"""

    def stride(self, level: int) -> tuple[int, int, int]:
        """Distances between samples of all levels up to this one."""

    def samples(
        self, lo: Sequence[int], hi: Sequence[int], level: int
    ) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """
        The first sample of a box at a level, and how many there are along each axis.
        """

    def read(
        self,
        field: int,
        step: int,
        lo: Sequence[int],
        hi: Sequence[int],
        after: int,
        level: int,
        out: Annotated[NDArray, dict(shape=(None, None, None, None), device="cpu")],
    ) -> int:
        """
        Reads samples of the levels above `after`, up to `level`; returns the bytes taken.
        """

    def expect_whole(self, field: int, step: int) -> None:
        """
        Raises Error if a block that has samples in the box is missing or cut short.
        """

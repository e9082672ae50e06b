# SPDX-License-Identifier: BSD-3-Clause
"""Roles of the columns of a table: a quantity, or something about another column, such as its
standard error. Plots and listings go by these roles and not by names of columns.
"""

from collections.abc import Collection
from enum import Enum

from pillion.errors import Error


class Role(Enum):
    """The role of a column. The numbers are those of `PILLION_COLUMN_VALUE` and so on."""

    VALUE = 0
    ERROR = 1  # the standard error of another column
    LOWER = 2  # the lower end of an interval about another column
    UPPER = 3
    COUNT = 4  # how many samples another column, or the whole row, comes from
    WEIGHT = 5

    @property
    def text(self) -> str:
        """As it stands in the head of a table."""
        return self.name.lower()

    @property
    def needs_column(self) -> bool:
        """Whether it is about one column, in the units of that."""
        return self in (Role.ERROR, Role.LOWER, Role.UPPER)


ROLES = {role.text: role for role in Role}


def role_of(column: str, text: str, columns: Collection[str]) -> tuple[Role, str]:
    """The role and the column of a text such as "error of NAME". Raises Error if it is none."""
    word, _, of = text.partition(" of ")
    role = ROLES.get(word)
    if role is None or role is Role.VALUE or (role.needs_column and not of):
        known = ", ".join(f"'{r.text} of NAME'" for r in Role if r is not Role.VALUE)
        raise Error(f"the role of column '{column}' is '{text}'; there are {known}")
    for name in (column, *([of] if of else [])):
        if name not in columns:
            raise Error(f"'{name}' has or gives a role, but is not a column of the table")
    return role, of
